#include "softverbs/pci.h"

#include <algorithm>
#include <map>
#include <regex>

#include "softverbs/cpu.h"

namespace softverbs {

namespace {

std::string bus_of(const std::string& pci) { return pci.substr(0, pci.rfind(':')); }

// How a PCI device is found: by its address, by its bus (NCCL:
// class/pci_bus/0000:10/../../0000:10:00.0), and that it is one (its subsystem; NCCL attaches a NIC
// without it to the first CPU).
void link_below(const FileTree& tree, const std::string& bridge, const std::string& pci) {
  const std::string dir = bridge + "/" + pci, bus = bus_of(pci);
  tree.link("bus/pci/devices/" + pci, dir);
  for (const std::string& place : {dir, bridge}) tree.link(place + "/subsystem", "bus/pci");
  tree.directory(bridge + "/pci_bus/" + bus);
  tree.link("class/pci_bus/" + bus, bridge + "/pci_bus/" + bus);
}

void write_attributes(const FileTree& tree, const std::string& dir, const PciFunction& function) {
  tree.file(dir + "/class", function.device_class);
  tree.file(dir + "/vendor", function.vendor);
  tree.file(dir + "/device", function.device);
  tree.file(dir + "/numa_node", std::to_string(function.numa));
  tree.file(dir + "/local_cpus", cpu_map(function.numa));
  tree.file(dir + "/local_cpulist", cpu_list(function.numa));
  tree.file(dir + "/current_link_speed", function.speed);
  tree.file(dir + "/max_link_speed", function.max_speed);
  tree.file(dir + "/current_link_width", std::to_string(function.width));
  tree.file(dir + "/max_link_width", std::to_string(function.max_width));
}

PciFunction bridge_above(const PciFunction& function, bool nearest) {
  PciFunction bridge = nearest ? function : PciFunction{};
  bridge.device_class = "0x060400";
  bridge.vendor = "0x8086";
  bridge.device = "0x352a";
  bridge.numa = function.numa;
  return bridge;
}

}  // namespace

bool is_pci_address(std::string_view text) {
  static const std::regex address("[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]");
  return std::regex_match(text.begin(), text.end(), address);
}

std::vector<std::string> bridges(const std::string& parent) {
  std::vector<std::string> found;
  for (std::size_t from = 0; from <= parent.size();) {
    const std::size_t end = std::min(parent.find('/', from), parent.size());
    found.push_back(parent.substr(from, end - from));
    if (!is_pci_address(found.back())) return {};
    from = end + 1;
  }
  return found;
}

std::string pci_path(const std::string& parent, const std::string& pci) {
  return "devices/pci" + bus_of(parent.substr(0, parent.find('/'))) + "/" + parent + "/" + pci;
}

void write_function(const FileTree& tree, const PciFunction& function) {
  std::string place = pci_path(function.parent, function.pci);
  write_attributes(tree, place, function);
  tree.file(place + "/subsystem_vendor", function.vendor);
  tree.file(place + "/subsystem_device", function.subsystem_device);
  bool nearest = true;
  for (std::size_t left = bridges(function.parent).size(); left > 0; --left) {
    const auto slash = place.rfind('/');
    const std::string bridge = place.substr(0, slash);
    write_attributes(tree, bridge, bridge_above(function, nearest));
    link_below(tree, bridge, place.substr(slash + 1));
    place = bridge;
    nearest = false;
  }
}

std::string twice_on_pci(const Host& host) {
  std::map<std::string, std::string> above;  // a bus, and the bridge that it is below
  std::string problem;
  const auto place = [&](const std::string& parent, const std::string& pci) {
    std::string bridge = "the host bridge";
    std::vector<std::string> functions = bridges(parent);
    functions.push_back(pci);
    for (const std::string& function : functions) {
      const auto [it, fresh] = above.emplace(bus_of(function), bridge);
      if (!fresh && it->second != bridge)
        problem = "the PCI bus " + it->first + " is below " + it->second + " and below " + bridge;
      bridge = function;
    }
  };
  for (const Hca& hca : host.hcas)
    if (!hca.pci.empty()) place(hca.parent, hca.pci);
  for (const Gpu& gpu : host.gpus) {
    place(gpu.parent, gpu.pci);
    if (std::any_of(host.hcas.begin(), host.hcas.end(),
                    [&](const Hca& hca) { return hca.pci == gpu.pci; }) ||
        std::count_if(host.gpus.begin(), host.gpus.end(),
                      [&](const Gpu& other) { return other.pci == gpu.pci; }) > 1)
      problem = "the GPU at " + gpu.pci + " is where another device is";
  }
  return problem;
}

}  // namespace softverbs
