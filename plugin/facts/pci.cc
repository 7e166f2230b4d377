#include "facts/pci.h"

#include <algorithm>
#include <cstdlib>

namespace nnd::facts {

namespace {

constexpr unsigned long kVga = 0x0300;
constexpr unsigned long k3d = 0x0302;
constexpr unsigned long kInfiniband = 0x0207;
constexpr unsigned long kEthernet = 0x0200;
constexpr unsigned long kOtherBridge = 0x0680;  // as which NVSwitches show up
constexpr unsigned long kNvidia = 0x10de;
constexpr unsigned long kMellanox = 0x15b3;

unsigned long hex(const FileTree& sysfs, const std::string& path) {  // 0: not read
  return std::strtoul(sysfs.read(path, 64).text.c_str(), nullptr, 16);
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    if (end > at) out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// "GPU UUID: \t GPU-8f5a...": of a GPU that nobody has used yet the driver writes question marks.
std::string uuid_of(std::string_view information) {
  constexpr std::string_view kKey = "GPU UUID:";
  const std::size_t key = information.find(kKey);
  if (key == std::string_view::npos) return {};
  std::string_view value = information.substr(key + kKey.size());
  value = value.substr(0, value.find('\n'));
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  value = value.substr(0, value.find_last_not_of(" \t\r") + 1);
  return value.find('?') == std::string_view::npos ? std::string(value) : std::string();
}

}  // namespace

bool is_function(std::string_view name) {
  return name.size() >= 12 && name[name.size() - 2] == '.';
}

PciBus read_pci_bus(const FileTree& sysfs, bool whole) {
  PciBus out;
  std::vector<std::string> looked_at;
  if (!whole) looked_at = sysfs.list("bus/pci/drivers/nvidia");
  std::erase_if(looked_at, [](const std::string& name) { return !is_function(name); });
  if (looked_at.empty()) looked_at = sysfs.list("bus/pci/devices");
  for (const std::string& address : looked_at) {
    const std::string at = "bus/pci/devices/" + address;
    const unsigned long kind = hex(sysfs, at + "/class") >> 8;
    const bool display = kind == kVga || kind == k3d;
    if (!display && kind != kInfiniband && kind != kEthernet && kind != kOtherBridge) continue;
    const unsigned long vendor = hex(sysfs, at + "/vendor");
    if (kind == kOtherBridge && vendor == kNvidia) ++out.nvswitches;
    out.infiniband = out.infiniband || kind == kInfiniband;
    out.rdma += kind == kInfiniband || (kind == kEthernet && vendor == kMellanox);
    if (!display || vendor != kNvidia) continue;
    out.gpus.push_back({address, sysfs.resolve(at).value_or(""),
                        static_cast<int>(sysfs.read_number(at + "/numa_node").value_or(-1))});
  }
  return out;
}

void name_gpus(const FileTree& files, std::vector<PciFunction>& gpus) {
  std::vector<std::string> known = files.list("proc/driver/nvidia/gpus");
  std::sort(known.begin(), known.end());
  for (PciFunction& gpu : gpus) {
    const auto at = std::find(known.begin(), known.end(), gpu.address);
    if (at == known.end()) continue;
    gpu.index = static_cast<int>(at - known.begin());
    gpu.uuid = uuid_of(files.read("proc/driver/nvidia/gpus/" + gpu.address + "/information").text);
  }
}

PciDistance pci_distance(std::string_view path_a, int numa_a, std::string_view path_b, int numa_b) {
  const auto a = components(path_a);
  const auto b = components(path_b);
  std::size_t common = 0;
  while (common < a.size() && common < b.size() && a[common] == b[common]) ++common;
  if (common == 0 || a.empty() || !is_function(a.back()) || b.empty() || !is_function(b.back()))
    return PciDistance::kUnknown;
  if (is_function(a[common - 1])) {
    // A switch is two bridges, one above the other: what hangs on it is one or two steps below.
    const std::size_t below = std::max(a.size(), b.size()) - common;
    return below <= 2 ? PciDistance::kPix : PciDistance::kPxb;
  }
  if (numa_a >= 0 && numa_b >= 0) return numa_a == numa_b ? PciDistance::kPhb : PciDistance::kSys;
  const bool same_root = a[common - 1].starts_with("pci");
  return same_root ? PciDistance::kPhb : PciDistance::kUnknown;
}

const char* pci_distance_text(PciDistance distance) {
  switch (distance) {
    case PciDistance::kPix:
      return "PIX";
    case PciDistance::kPxb:
      return "PXB";
    case PciDistance::kPhb:
      return "PHB";
    case PciDistance::kSys:
      return "SYS";
    case PciDistance::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace nnd::facts
