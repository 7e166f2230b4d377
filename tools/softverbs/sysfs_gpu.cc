#include "softverbs/sysfs_tree.h"

namespace softverbs {

void link_pci(const FileTree& tree, const std::string& bridge, const std::string& pci) {
  const std::string dir = bridge + "/" + pci, bus = pci.substr(0, pci.rfind(':'));
  tree.link("bus/pci/devices/" + pci, dir);
  for (const std::string& place : {dir, bridge}) tree.link(place + "/subsystem", "bus/pci");
  tree.directory(bridge + "/pci_bus/" + bus);
  tree.link("class/pci_bus/" + bus, bridge + "/pci_bus/" + bus);
}

void write_gpu(const FileTree& tree, const Gpu& gpu) {
  const std::string bridge =
      "devices/pci" + gpu.parent.substr(0, gpu.parent.rfind(':')) + "/" + gpu.parent;
  const std::string dir = bridge + "/" + gpu.pci;
  tree.file(dir + "/class", "0x030200");  // 3D controller
  tree.file(dir + "/vendor", "0x10de");
  tree.file(dir + "/device", "0x2330");
  tree.file(dir + "/subsystem_vendor", "0x10de");
  tree.file(dir + "/subsystem_device", "0x16c1");
  tree.file(bridge + "/class", "0x060400");
  tree.file(bridge + "/vendor", "0x8086");
  tree.file(bridge + "/device", "0x352a");
  for (const std::string& place : {dir, bridge}) {
    tree.file(place + "/numa_node", std::to_string(gpu.numa));
    tree.file(place + "/local_cpus", "ffffffff");
    tree.file(place + "/local_cpulist", "0-31");
    tree.file(place + "/current_link_speed", "32.0 GT/s PCIe");
    tree.file(place + "/max_link_speed", "32.0 GT/s PCIe");
    tree.file(place + "/current_link_width", "16");
    tree.file(place + "/max_link_width", "16");
  }
  link_pci(tree, bridge, gpu.pci);
  if (gpu.numa >= 0) {
    const std::string node = "devices/system/node/node" + std::to_string(gpu.numa);
    tree.file(node + "/cpumap", "ffffffff");
    tree.file(node + "/cpulist", "0-31");
  }
}

}  // namespace softverbs
