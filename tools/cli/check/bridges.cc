#include "cli/check/bridges.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

namespace nnd::cli {

namespace {

// PCI Express Base Specification: extended capabilities begin at 0x100, each with its id and where
// the next one is; Access Control Services have the id 0x000d, their control register at 6.
constexpr std::size_t kExtended = 0x100, kConfig = 4096;
constexpr unsigned kAcs = 0x000d, kAcsControl = 6;
constexpr unsigned kRequestRedirect = 1u << 2, kCompletionRedirect = 1u << 3;

unsigned word(const std::string& config, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < config.size() ? static_cast<unsigned>(static_cast<unsigned char>(config[i])) : 0u;
  };
  return byte(at) | byte(at + 1) << 8;
}

bool redirects(const std::string& config) {
  std::size_t at = kExtended;
  // A capability takes four bytes at least: a chain that is longer has a loop.
  for (std::size_t steps = 0; steps < kConfig / 4 && at >= kExtended; ++steps) {
    const unsigned id = word(config, at), next = word(config, at + 2) >> 4;
    if (id == 0) return false;
    if (id == kAcs)
      return (word(config, at + kAcsControl) & (kRequestRedirect | kCompletionRedirect)) != 0;
    at = next;
  }
  return false;
}

// The bridges that a device hangs below, the root port first: paths within sysfs.
std::vector<std::string_view> bridges_above(std::string_view device) {
  std::vector<std::string_view> out;
  for (std::size_t at = device.find('/'); at != std::string_view::npos;
       at = device.find('/', at + 1)) {
    const std::string_view path = device.substr(0, at);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (facts::is_function(name)) out.push_back(path);
  }
  return out;
}

std::string address_of(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// Without root: the kernel puts what is below one switch into groups of their own only where all
// bridges on the way redirect (Linux drivers/iommu/iommu.c, pci_device_group: REQ_ACS_FLAGS). One
// group for all proves nothing.
std::optional<std::vector<std::string>> by_iommu_groups(const facts::FileTree& sysfs,
                                                        const std::set<std::string_view>& devices,
                                                        const std::set<std::string_view>& ports) {
  std::map<std::string_view, std::map<std::string, std::set<std::string_view>>> below;  // a switch
  for (const std::string_view port : ports)
    for (const std::string_view device : devices) {
      if (!device.starts_with(std::string(port) + "/")) continue;
      const auto group = sysfs.resolve(std::string(device) + "/iommu_group");
      if (!group) return std::nullopt;
      below[port.substr(0, port.rfind('/'))][*group].insert(port);
    }
  std::vector<std::string> out;
  for (const auto& [over, groups] : below)
    if (groups.size() > 1)
      for (const auto& [group, own] : groups)
        for (const std::string_view port : own) out.push_back(address_of(port));
  std::sort(out.begin(), out.end());
  return out.empty() ? std::nullopt : std::optional(out);
}

}  // namespace

std::optional<std::vector<std::string>> redirecting_bridges(const facts::Node& node) {
  std::set<std::string_view> devices;
  for (const facts::PciFunction& gpu : node.pci.gpus) devices.insert(gpu.path);
  for (const facts::Hca& hca : node.hcas) devices.insert(hca.device_path);
  std::map<std::string_view, std::size_t> below;  // devices, by bridge
  for (const std::string_view device : devices)
    for (const std::string_view bridge : bridges_above(device)) ++below[bridge];
  std::set<std::string_view> ports;
  for (const std::string_view device : devices) {
    const auto above = bridges_above(device);
    // The port is not above all of those that the bridge over it has.
    for (std::size_t i = 1; i < above.size(); ++i)
      if (below[above[i - 1]] > below[above[i]]) ports.insert(above[i]);
  }
  const facts::FileTree sysfs(node.sysfs);
  std::vector<std::string> out;
  for (const std::string_view port : ports) {
    const facts::FileText config = sysfs.read(std::string(port) + "/config", kConfig);
    if (!config.ok() || config.text.size() <= kExtended)
      return by_iommu_groups(sysfs, devices, ports);
    if (redirects(config.text)) out.push_back(address_of(port));
  }
  return out;
}

}  // namespace nnd::cli
