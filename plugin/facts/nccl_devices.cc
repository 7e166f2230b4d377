#include "facts/nccl_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace nnd::facts {

namespace {

using namespace nccl_abi;

constexpr int kMostPlanes = 13;
constexpr int kVirtualPlane = 1 << 14;

// How many bits are zero below the first one that is set; `most` where none of the first is.
std::size_t first_bit(int value, std::size_t most) {
  std::size_t bit = 0;
  while (bit < most && (value & (1 << bit)) == 0) ++bit;
  return bit;
}

long speed_of(const Port& port, int version) {
  if (kAsksPortSpeed.has(version) && port.effective_speed_mbps > 0)
    return port.effective_speed_mbps;
  constexpr std::array kLanes = {1, 4, 8, 12, 2};
  constexpr std::array kSpeeds = {2500, 5000, 10000, 10000, 14000, 25000, 50000, 100000, 200000};
  constexpr long kNdr = 100000;
  constexpr long kXdr = 200000;
  const int lanes = kLanes[first_bit(port.active_width, kLanes.size() - 1)];
  const bool knows_xdr = kReadsXdr.has(version);
  // The 8 bits that old programs read end at NDR.
  if (knows_xdr && port.sysfs_speed_mbps > kNdr * lanes) return kXdr * lanes;
  const std::size_t last = kSpeeds.size() - (knows_xdr ? 1 : 2);
  return static_cast<long>(kSpeeds[first_bit(port.active_speed, last)]) * lanes;
}

bool knows_dmabuf(const Hca& hca) {
  const int answer = hca.gdr.dmabuf_errno;
  return answer > 0 && answer != EOPNOTSUPP && answer != EPROTONOSUPPORT;
}

// One entry of ncclIbDevs.
struct Physical {
  NcclDevice shown;
  std::string full_path;  // for the order
};

class Init {
 public:
  Init(const Node& node, const Environment& environment)
      : node_(node),
        version_(node.nccl_version),
        merges_functions_(environment.number("NCCL_IB_MERGE_VFS", 1) != 0),
        merges_ports_(environment.number("NCCL_IB_MERGE_NICS", 1) != 0),
        data_direct_(environment.number("NCCL_IB_DATA_DIRECT", 1)),
        sorts_(kSortsByPci.has(version_) && environment.number("NCCL_IB_DEVICE_PCI_ORDER", 1) != 0),
        disabled_(environment.number("NCCL_IB_DISABLE", 0) != 0) {}

  NcclDevices run() {
    if (disabled_)
      fail("NCCL_IB_DISABLE is set");
    else if (node_.network.known && node_.oob.netdev.empty())
      fail("no interface for the ranks to meet");
    for (const Hca& hca : node_.hcas)
      if (out_.init == NcclInit::kWorks) take(hca);
    if (sorts_) sort();
    if (kSortsByPci.has(version_))
      for (std::size_t i = 0; i < all_.size(); ++i) count_port(all_[i], i);
    number_planes();
    merge();
    answer_dmabuf_once();
    if (out_.init != NcclInit::kWorks) out_.devices.clear();
    return std::move(out_);
  }

 private:
  void fail(std::string why) { stop(NcclInit::kFails, std::move(why)); }
  void crash(const Hca& hca) {
    stop(NcclInit::kCrashes,
         fmt::format("/sys/class/infiniband/{}/device does not resolve", hca.name));
  }
  void stop(NcclInit init, std::string why) {
    if (out_.init != NcclInit::kWorks) return;
    out_.init = init;
    out_.why = std::move(why);
  }

  // Where a pick fails, the connection does; in these releases init.
  void pick(const Hca& hca, const Port& port) {
    if (kPicksGidInInit.has(version_) && port.pick.index < 0)
      fail(fmt::format("{}:{}: {}", hca.name, port.number, port.pick.why));
  }

  void take(const Hca& hca) {
    const bool direct = has_data_direct(hca);
    for (const Port& port : hca.ports) {
      if (port.choice != PortChoice::kTaken || out_.init != NcclInit::kWorks) continue;
      if (kDataDirectAnyNumber.has(version_) && data_direct_ > 0 && knows_dmabuf(hca) &&
          hca.data_direct.error > 0 && hca.data_direct.error != ENODEV)
        return fail(fmt::format("mlx5dv_get_data_direct_sysfs_path of {}: {}", hca.name,
                                std::strerror(hca.data_direct.error)));
      if (!direct || data_direct_ == 2 || kDataDirectBeside.has(version_)) add(hca, port, false);
      if (direct) add(hca, port, true);
      pick(hca, port);
    }
  }

  bool has_data_direct(const Hca& hca) const {
    if (hca.data_direct.error != 0 || !knows_dmabuf(hca)) return false;
    if (kDataDirectAnyNumber.has(version_)) return data_direct_ > 0;
    if (kDataDirectInstead.has(version_)) return data_direct_ == 1 || data_direct_ == 2;
    return kDataDirectBeside.has(version_) && data_direct_ != 0;
  }

  void add(const Hca& hca, const Port& port, bool direct) {
    Physical one;
    one.full_path = hca.device_path.empty() ? std::string() : "/sys/" + hca.device_path;
    NcclDevice& shown = one.shown;
    shown.name = direct ? hca.name + "_dma" : hca.name;
    shown.members = {{&hca, &port}};
    shown.pci_path = direct ? "/sys" + hca.data_direct.path : path_for_core(one.full_path);
    shown.speed_mbps = speed_of(port, version_);
    shown.port = port.number;
    shown.peermem = node_.peer_memory.nccl_sees();
    shown.dmabuf = knows_dmabuf(hca);
    shown.force_flush = direct && kFlushesDataDirect.has(version_);
    shown.rail = port.nccl_rail;
    shown.plane = port.nccl_plane;
    if (!kSortsByPci.has(version_) && !direct) count_port(one, all_.size());
    all_.push_back(std::move(one));
  }

  std::string path_for_core(std::string path) const {
    if (path.empty() || kKeepsFunctionInPath.has(version_)) return path;
    path.back() = '0';
    if (merges_functions_ && path.size() >= 4) path[path.size() - 3] = path[path.size() - 4] = '0';
    return path;
  }

  bool same_card(const std::string& own, const std::string& other) const {
    if (!kMatchesPathPrefix.has(version_)) return own == other;
    const std::size_t counted = own.size() - (merges_functions_ ? 4 : 1);
    return own.substr(0, counted) == other.substr(0, counted);
  }

  void count_port(Physical& one, std::size_t before) {
    if (one.shown.pci_path.empty()) return;
    for (std::size_t i = 0; i < before; ++i) {
      if (all_[i].shown.pci_path.empty()) return crash(hca_of(all_[i].shown));
      if (same_card(one.shown.pci_path, all_[i].shown.pci_path)) ++one.shown.port;
    }
  }

  // By the digits of the PCI address; what has none comes last.
  void sort() {
    const auto number = [](const Physical& one) {
      std::string digits;
      for (const char c : one.full_path.substr(one.full_path.rfind('/') + 1)) {
        if (c == '.' || c == ':') continue;
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0 || digits.size() == 16) break;
        digits += c;
      }
      return std::strtol(digits.c_str(), nullptr, 16);
    };
    std::stable_sort(all_.begin(), all_.end(), [&](const Physical& a, const Physical& b) {
      if (a.full_path.empty() || b.full_path.empty())
        return !a.full_path.empty() && b.full_path.empty();
      return number(a) < number(b);
    });
  }

  void number_planes() {
    if (!kRailsInHcaList.has(version_)) return;
    std::vector<int> planes = {-1};
    for (const Physical& one : all_) {
      const int plane = one.shown.plane;
      if (std::find(planes.begin(), planes.end(), plane) != planes.end()) continue;
      if (planes.size() == kMostPlanes)
        return fail(fmt::format("NCCL_IB_HCA names more than {} planes", kMostPlanes - 1));
      if (plane != -1 && (plane & kVirtualPlane) != 0)
        return fail(fmt::format("NCCL_IB_HCA names the plane {}, which NCCL can't use", plane));
      planes.push_back(plane);
    }
  }

  void merge() {
    list(kMergesInInit.has(version_) && merges_ports_);
    const auto& all = out_.devices;
    const bool mixed = std::any_of(all.begin(), all.end(), [&all](const NcclDevice& device) {
      return device.members.size() != all.front().members.size();
    });
    if (mixed && kMergesAllOrNone.has(version_)) list(false);
  }

  void list(bool merged) {
    out_.devices.clear();
    for (const Physical& one : all_) {
      const std::size_t found = merged ? find_match(one.shown) : out_.devices.size();
      if (out_.init != NcclInit::kWorks) return;
      if (found == out_.devices.size()) {
        out_.devices.push_back(one.shown);
        continue;
      }
      NcclDevice& whole = out_.devices[found];
      whole.name += "+" + one.shown.name;
      whole.speed_mbps += one.shown.speed_mbps;
      whole.dmabuf = whole.dmabuf && one.shown.dmabuf;
      whole.members.push_back(one.shown.members.front());
    }
  }

  static const Hca& hca_of(const NcclDevice& device) { return *device.members.front().hca; }

  static bool alike(const NcclDevice& a, const NcclDevice& b) {
    return a.pci_path == b.pci_path && hca_of(a).sys_image_guid == hca_of(b).sys_image_guid &&
           a.members.front().port->link_layer == b.members.front().port->link_layer;
  }

  std::size_t find_match(const NcclDevice& one) {
    constexpr std::size_t kMostMembers = 2;
    for (std::size_t i = 0; i < out_.devices.size(); ++i) {
      const NcclDevice& other = out_.devices[i];
      if (other.members.size() == kMostMembers) continue;
      if (one.pci_path.empty() || other.pci_path.empty()) {
        crash(hca_of(one.pci_path.empty() ? one : other));
        return i;
      }
      if (alike(one, other)) return i;
    }
    return out_.devices.size();
  }

  // Device 0 is asked first: where it is merged, its last member's answer stays.
  void answer_dmabuf_once() {
    if (!kOneDmabufAnswer.has(version_) || out_.devices.empty()) return;
    const bool answer = knows_dmabuf(*out_.devices.front().members.back().hca);
    for (NcclDevice& device : out_.devices) device.dmabuf = answer;
  }

  const Node& node_;
  const int version_;
  const bool merges_functions_;
  const bool merges_ports_;
  const long data_direct_;
  const bool sorts_;
  const bool disabled_;
  std::vector<Physical> all_;
  NcclDevices out_;
};

int byte(long value) { return static_cast<int>(value & 0xff); }

}  // namespace

NcclDevices nccl_devices(const Node& node, const Environment& environment) {
  return Init(node, environment).run();
}

NcclQp nccl_qp(const Environment& environment, int version) {
  NcclQp out;
  const auto or_zero = [&](const char* name) {
    const long value = environment.number(name, 0);
    return kUnsetTrafficClass.has(version) && value == -1 ? 0 : value;
  };
  const long traffic_class = or_zero("NCCL_IB_TC");
  out.traffic_class = out.receiver_traffic_class = byte(traffic_class);
  if (kFifoTrafficClass.has(version)) {
    const long unset = kUnsetFifoTrafficClass.has(version) ? -1 : 0;
    const long fifo = environment.number("NCCL_IB_FIFO_TC", unset);
    if (fifo != unset) out.receiver_traffic_class = byte(fifo);
  }
  out.service_level = byte(or_zero("NCCL_IB_SL"));
  out.count = static_cast<int>(environment.number("NCCL_IB_QPS_PER_CONNECTION", 1));
  out.pkey_index = static_cast<int>(environment.number("NCCL_IB_PKEY", 0) & 0xffff);
  out.timeout = byte(environment.number("NCCL_IB_TIMEOUT", kTimeout20.has(version) ? 20 : 18));
  out.retry_count = byte(environment.number("NCCL_IB_RETRY_CNT", 7));
  return out;
}

}  // namespace nnd::facts
