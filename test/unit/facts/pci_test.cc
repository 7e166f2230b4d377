#include "facts/pci.h"

#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using nnd::facts::test::Tree;

namespace {

void add_function(Tree& tree, const std::string& above, const std::string& address,
                  const std::string& kind, const std::string& vendor, const std::string& numa) {
  const std::string at = "devices/" + above + "/" + address;
  tree.write(at + "/class", kind + "\n")
      .write(at + "/vendor", vendor + "\n")
      .write(at + "/numa_node", numa + "\n")
      .link("bus/pci/devices/" + address, "../../../" + at);
}

}  // namespace

TEST_CASE("GPUs and RDMA hardware on the bus") {
  Tree tree;
  add_function(tree, "pci0000:00/0000:00:01.0", "0000:01:00.0", "0x030200", "0x10de", "0");
  add_function(tree, "pci0000:00", "0000:00:02.0", "0x030000", "0x8086", "0");  // the board's own
  add_function(tree, "pci0000:80", "0000:81:00.0", "0x020000", "0x15b3", "1");
  add_function(tree, "pci0000:80", "0000:82:00.0", "0x020700", "0x15b3", "1");
  add_function(tree, "pci0000:80", "0000:83:00.0", "0x020000", "0x8086", "1");  // plain Ethernet
  add_function(tree, "pci0000:80", "0000:84:00.0", "0x010802", "0x15b3", "1");  // storage
  add_function(tree, "pci0000:80", "0000:85:00.0", "0x068000", "0x10de", "1");  // NVSwitch
  add_function(tree, "pci0000:80", "0000:86:00.0", "0x068000", "0x8086", "1");
  const PciBus bus = read_pci_bus(FileTree(tree.root()), true);
  CHECK(bus.nvswitches == 1);
  REQUIRE(bus.gpus.size() == 1);
  CHECK(bus.gpus[0].address == "0000:01:00.0");
  CHECK(bus.gpus[0].path == "devices/pci0000:00/0000:00:01.0/0000:01:00.0");
  CHECK(bus.gpus[0].numa == 0);
  CHECK(bus.rdma == 2);
  CHECK(bus.infiniband);
  CHECK(read_pci_bus(FileTree(tree.root() + "/none"), true).gpus.empty());
}

TEST_CASE("GPUs have nvidia-smi's numbers and their UUIDs, where the driver tells") {
  Tree tree;
  const std::string gpus = "proc/driver/nvidia/gpus/";
  tree.write(gpus + "0000:1b:00.0/information",
             "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-8f5a\nDevice Minor: \t 1\n")
      .write(gpus + "0000:2c:00.0/information", "GPU UUID: \t GPU-????????\n")
      .write(gpus + "0001:01:00.0/information", "Model: x\n");
  std::vector<PciFunction> all(4);
  all[0].address = "0001:01:00.0";
  all[1].address = "0000:1b:00.0";
  all[2].address = "0000:2c:00.0";
  all[3].address = "0000:99:00.0";
  name_gpus(FileTree(tree.root()), all);
  CHECK(all[0].index == 2);
  CHECK(all[0].uuid.empty());
  CHECK(all[1].index == 0);
  CHECK(all[1].uuid == "GPU-8f5a");
  CHECK(all[2].index == 1);
  CHECK(all[2].uuid.empty());
  CHECK(all[3].index == -1);
}

TEST_CASE("the GPUs alone are those that NVIDIA's driver has") {
  Tree tree;
  const std::string root = "devices/pci0000:00/";
  add_function(tree, "pci0000:00", "0000:01:00.0", "0x030200", "0x10de", "0");
  add_function(tree, "pci0000:00", "0000:02:00.0", "0x020700", "0x15b3", "1");
  add_function(tree, "pci0000:00", "0000:03:00.0", "0x030200", "0x10de", "0");
  const FileTree sysfs(tree.root());
  CHECK(read_pci_bus(sysfs, false).gpus.size() == 2);  // without the driver they are looked for
  tree.write("bus/pci/drivers/nvidia/bind", "")
      .link("bus/pci/drivers/nvidia/module", "../../../../module/nvidia");
  CHECK(read_pci_bus(sysfs, false).gpus.size() == 2);
  tree.link("bus/pci/drivers/nvidia/0000:03:00.0", "../../../../" + root + "0000:03:00.0");
  const PciBus bus = read_pci_bus(sysfs, false);
  REQUIRE(bus.gpus.size() == 1);
  CHECK(bus.gpus[0].path == root + "0000:03:00.0");
  CHECK(bus.rdma == 0);
  CHECK(read_pci_bus(sysfs, true).rdma == 1);
}

TEST_CASE("how far two functions are from each other") {
  const std::string root = "devices/pci0000:00/0000:00:01.0";
  const std::string top = root + "/0000:02:00.0";                // a switch's upstream port
  const std::string below = top + "/0000:03:08.0/0000:0a:00.0";  // a second switch
  const std::string gpu = top + "/0000:03:00.0/0000:04:00.0";
  const auto distance = [&gpu](const std::string& other, int numa) {
    return pci_distance(gpu, 0, other, numa);
  };
  CHECK(distance(top + "/0000:03:04.0/0000:05:00.0", 0) == PciDistance::kPix);
  CHECK(distance(below + "/0000:0b:00.0/0000:0c:00.0", 0) == PciDistance::kPxb);
  CHECK(distance("devices/pci0000:00/0000:00:02.0/0000:20:00.0", 0) == PciDistance::kPhb);
  CHECK(distance("devices/pci0000:40/0000:40:01.0/0000:41:00.0", 0) == PciDistance::kPhb);
  CHECK(distance("devices/pci0000:80/0000:80:01.0/0000:81:00.0", 1) == PciDistance::kSys);
  // Without NUMA nodes only the root complex tells.
  CHECK(distance("devices/pci0000:00/0000:00:02.0/0000:20:00.0", -1) == PciDistance::kPhb);
  CHECK(distance("devices/pci0000:80/0000:80:01.0/0000:81:00.0", -1) == PciDistance::kUnknown);
  CHECK(distance("", 0) == PciDistance::kUnknown);
  CHECK(distance("devices/virtual/infiniband/rxe0", 0) == PciDistance::kUnknown);
  CHECK(pci_distance_text(PciDistance::kPxb) == std::string("PXB"));
}
