#include "facts/hca.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "config/real.h"

namespace nnd::facts {

namespace {

constexpr long kUsualPkeys = 16;  // the subnet manager fills the table from its beginning

bool looks_like_pci(std::string_view name) {  // 0000:c1:00.0
  return name.size() >= 12 && name[name.size() - 2] == '.' && name[name.size() - 5] == ':' &&
         name[name.size() - 8] == ':';
}

std::string sysfs_dir(const std::string& device) { return "class/infiniband/" + device; }

std::string last_component(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

double link_gts(const FileTree& sysfs, const std::string& path) {
  const std::string text = sysfs.read(path, 64).text;  // "32.0 GT/s PCIe"
  std::string_view rest = text;
  return config::take_real(rest).value_or(0);
}

void read_pci(const HcaContext& context, Hca& hca) {
  const FileTree& sysfs = context.sysfs;
  const std::string& at = hca.device_path;
  if (at.empty()) return;
  const std::string name = last_component(at);
  hca.device_netdevs = sysfs.list(at + "/net");
  hca.numa = static_cast<int>(sysfs.read_number(at + "/numa_node").value_or(-1));
  if (!looks_like_pci(name)) return;
  hca.pci = name;
  hca.pcie.current_gts = link_gts(sysfs, at + "/current_link_speed");
  hca.pcie.max_gts = link_gts(sysfs, at + "/max_link_speed");
  hca.pcie.current_width =
      static_cast<int>(sysfs.read_number(at + "/current_link_width").value_or(0));
  hca.pcie.max_width = static_cast<int>(sysfs.read_number(at + "/max_link_width").value_or(0));
  // A virtual function's link registers read 0 or "Unknown": nothing is compared then.
  if (const auto physfn = sysfs.resolve(at + "/physfn")) hca.physfn = last_component(*physfn);
  hca.iommu_type = sysfs.read(at + "/iommu_group/type", 64).text;
}

// Only opening it tells: a node's permissions say nothing of a device cgroup or of a mount with
// nodev, and the superuser's access() is always granted. What verbs has opened needs no look.
void examine_uverbs(const HcaContext& context, Hca& hca) {
  if (!context.examine_uverbs || hca.uverbs_name.empty()) return;
  const std::string path = context.files.absolute("dev/infiniband/" + hca.uverbs_name);
  const int node = hca.open_errno == 0 ? -1 : open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (node >= 0) close(node);
  if (hca.open_errno == 0 || node >= 0) {
    hca.uverbs = UverbsState::kUsable;
    return;
  }
  hca.uverbs_errno = errno;
  hca.uverbs = errno == ENOENT || errno == ENOTDIR ? UverbsState::kMissing : UverbsState::kDenied;
}

GidType parse_type(const std::string& text) {
  if (text.starts_with("RoCE v2")) return GidType::kRoceV2;
  if (text.starts_with("IB/RoCE v1") || text.starts_with("RoCE v1")) return GidType::kRoceV1;
  return GidType::kUnknown;
}

class PortReader {
 public:
  PortReader(const HcaContext& context, const Hca& hca, const std::string& hca_dir,
             const VerbsPort& verbs)
      : context_(context),
        hca_(hca),
        verbs_(verbs),
        dir_(fmt::format("{}/ports/{}", hca_dir, verbs.number)) {}

  Port read() {
    Port out;
    out.number = verbs_.number;
    out.query_errno = verbs_.query_errno;
    out.state = verbs_.state;
    out.phys_state = verbs_.phys_state;
    out.link_layer = verbs_.link_layer;
    out.width = verbs_width(verbs_.active_width);
    out.active_speed = verbs_.active_speed;
    out.active_width = verbs_.active_width;
    out.effective_speed_mbps = verbs_.effective_speed_mbps;
    out.active_mtu = verbs_mtu(verbs_.active_mtu);
    out.max_mtu = verbs_mtu(verbs_.max_mtu);
    out.lid = verbs_.lid;
    out.sm_lid = verbs_.sm_lid;
    out.gid_table_length = verbs_.gid_table_length;
    out.pkeys = verbs_.pkeys;
    out.pkey_index = context_.environment.number("NCCL_IB_PKEY", 0);
    if (hca_.sysfs_present)
      out.sysfs_speed_mbps = parse_rate_mbps(context_.sysfs.read(dir_ + "/rate", 128).text);
    // The plain active_speed field ends at NDR: XDR ports say more in sysfs.
    out.speed_mbps =
        std::max(verbs_speed_mbps(verbs_.active_speed, verbs_.active_width), out.sysfs_speed_mbps);
    if (out.pkeys.empty() && out.infiniband() && hca_.sysfs_present) read_pkeys(out);
    out.gids.reserve(verbs_.gids.size());
    for (const VerbsGid& gid : verbs_.gids)
      if (!context::gid_zero(gid.raw)) out.gids.push_back(read_gid(gid));
    if (out.query_errno == 0)
      out.pick = pick_gid(slots(out), out.link_layer, context_.environment, context_.nccl_version,
                          hca_.sysfs_present ? type_errors(out) : TypeError());
    return out;
  }

  // What the network says of its GIDs now.
  void read_again(Port& port) {
    for (Gid& gid : port.gids) {
      gid.netdev.clear();
      gid.address.reset();
      gid.owner_ifindex = 0;
      if (gid.type == GidType::kUnknown) read_type(gid);
      read_netdev(gid);
    }
  }

 private:
  // From where libibverbs has them too. The table's beginning, and as far as NCCL's own index.
  void read_pkeys(Port& port) {
    const long used = std::clamp(port.pkey_index + 1, kUsualPkeys, 65536L);
    for (long i = 0; i < std::min<long>(verbs_.pkey_table_length, used); ++i) {
      const FileText file = context_.sysfs.read(fmt::format("{}/pkeys/{}", dir_, i), 32);
      if (!file.ok()) break;
      port.pkeys.push_back(
          static_cast<std::uint16_t>(std::strtoul(file.text.c_str(), nullptr, 16)));
    }
    while (!port.pkeys.empty() && port.pkeys.back() == 0) port.pkeys.pop_back();
  }

  Gid read_gid(const VerbsGid& verbs) {
    Gid out;
    out.index = verbs.index;
    out.raw = verbs.raw;
    out.type = verbs.type;
    out.ifindex = verbs.ifindex;
    if (verbs_.link_layer == 2) {
      read_type(out);
      read_netdev(out);
    } else if (out.type == GidType::kUnknown) {
      out.type = GidType::kIb;
    }
    return out;
  }

  FileText type_file(std::size_t index) const {
    FileText file = context_.sysfs.read(fmt::format("{}/gid_attrs/types/{}", dir_, index), 64);
    // The kernel's file of an empty slot can't be read (EINVAL); a copy's can only be empty.
    if (file.ok() && file.text.empty()) file.error = EINVAL;
    return file;
  }

  TypeError type_errors(Port& port) const {
    return [this, &port](std::size_t index) {
      const int error = type_file(index).error;
      for (Gid& gid : port.gids)
        if (gid.index == index) gid.type_error = error;
      return error;
    };
  }

  // NCCL reads the types from sysfs. Where verbs tells them, the first file shows whether NCCL can;
  // but a slot whose interface lives in another network namespace may be unreadable by itself.
  void read_type(Gid& gid) {
    const bool elsewhere = context_.network.known && !context_.network.find(gid.ifindex);
    if (!hca_.sysfs_present || (gid.type != GidType::kUnknown && types_readable_ && !elsewhere))
      return;
    const FileText file = type_file(gid.index);
    types_readable_ = file.ok();
    gid.type_error = file.error;
    if (gid.type == GidType::kUnknown) gid.type = parse_type(file.text);
  }

  // Indices and names are those of the interface's own network namespace, which need not be ours:
  // one of them counts where the interface has the address, or is of this HCA.
  bool ours(const NetDev* dev, const NetDev* owner) const {
    if (!dev) return false;
    if (owner && (owner == dev || owner->name == dev->master)) return true;
    return std::any_of(
        hca_.device_netdevs.begin(), hca_.device_netdevs.end(), [&](const std::string& name) {
          const NetDev* const own = context_.network.find(name);
          return name == dev->name || name == dev->parent || (own && own->master == dev->name);
        });
  }

  // By verbs' ifindex; else by who has the address (no file to read); else by sysfs.
  void read_netdev(Gid& gid) {
    const IpAddress address = gid_address(gid.raw);
    IpPrefix prefix;
    const NetDev* dev = context_.network.find(gid.ifindex);
    const NetDev* owner = context_.network.owner(address, dev, &prefix);
    if (!ours(dev, owner)) dev = owner = context_.network.owner(address, nullptr, &prefix);
    if (dev) {
      gid.netdev = dev->name;
      gid.ifindex = dev->ifindex;
    } else if (hca_.sysfs_present) {
      gid.netdev =
          context_.sysfs.read(fmt::format("{}/gid_attrs/ndevs/{}", dir_, gid.index), 64).text;
      if (gid.netdev.empty() && hca_.device_netdevs.size() == 1)
        gid.netdev = hca_.device_netdevs.front();
      dev = context_.network.find(gid.netdev);
      owner = context_.network.owner(address, dev, &prefix);
      if (dev && !ours(dev, owner)) {
        gid.netdev.clear();  // another one of this name
        dev = nullptr;
        owner = context_.network.owner(address, nullptr, &prefix);
      }
      gid.ifindex = dev ? dev->ifindex : 0;
    }
    if (owner) {
      gid.address = prefix;
      gid.owner_ifindex = owner->ifindex;
    }
  }

  static std::vector<GidSlot> slots(const Port& port) {
    std::size_t length = static_cast<std::size_t>(std::clamp(port.gid_table_length, 0, 65536));
    for (const Gid& gid : port.gids) length = std::max<std::size_t>(length, gid.index + 1);
    std::vector<GidSlot> out(length);
    for (const Gid& gid : port.gids) out[gid.index] = {gid.raw, gid.type, gid.type_error};
    return out;
  }

  const HcaContext& context_;
  const Hca& hca_;
  const VerbsPort& verbs_;
  std::string dir_;
  bool types_readable_ = false;
};

// rtnetlink tells no speed of what has none of its own, sysfs -1.
BondSlave read_slave(const HcaContext& context, const std::string& name) {
  BondSlave out{name, {}, 0};
  if (const NetDev* dev = context.network.find(name)) {
    out.operstate = dev->operstate;
    out.speed_mbps = dev->speed_mbps;
  }
  const std::string dir = "class/net/" + name;
  if (out.operstate.empty()) out.operstate = context.sysfs.read(dir + "/operstate", 64).text;
  if (out.speed_mbps == 0)
    out.speed_mbps = std::max(0L, context.sysfs.read_number(dir + "/speed").value_or(0));
  return out;
}

void find_netdev(const HcaContext& context, Hca& hca) {
  int ifindex = 0;
  const auto use = [&](const Gid* gid) {
    if (!gid || !hca.netdev.empty() || gid->netdev.empty()) return;
    hca.netdev = gid->netdev;
    ifindex = gid->ifindex;
  };
  for (const Port& port : hca.ports)
    if (port.ethernet()) use(port.picked());
  for (const Port& port : hca.ports)
    for (const Gid& gid : port.gids)
      if (port.ethernet()) use(&gid);
  if (hca.netdev.empty() && !hca.device_netdevs.empty()) hca.netdev = hca.device_netdevs.front();
  if (hca.netdev.empty()) return;

  const NetDev* dev =
      ifindex != 0 ? context.network.find(ifindex) : context.network.find(hca.netdev);
  std::string bond;
  if (dev && dev->is_bond()) bond = dev->name;
  if (dev && !dev->master.empty()) {
    const NetDev* master = context.network.find(dev->master);
    if (master && master->is_bond()) bond = master->name;
  }
  if (dev && bond.empty() && !dev->parent.empty()) {  // a VLAN over a bond
    const NetDev* parent = context.network.find(dev->parent);
    if (parent && parent->is_bond()) bond = parent->name;
  }
  const std::string net_dir = "class/net/" + (bond.empty() ? hca.netdev : bond) + "/bonding/";
  const std::string slaves = context.sysfs.read(net_dir + "slaves", 1024).text;
  if (bond.empty() && !slaves.empty()) bond = hca.netdev;
  hca.bond = bond;
  if (bond.empty()) return;
  hca.bond_mode = context.sysfs.read(net_dir + "mode", 64).text;
  std::vector<std::string> names;
  for (std::size_t at = 0; at < slaves.size();) {
    const auto end = std::min(slaves.find(' ', at), slaves.size());
    if (end > at) names.push_back(slaves.substr(at, end - at));
    at = end + 1;
  }
  if (const NetDev* master = context.network.find(bond); master && names.empty())
    for (const NetDev* slave : context.network.slaves(*master)) names.push_back(slave->name);
  for (const std::string& name : names) hca.bond_slaves.push_back(read_slave(context, name));
}

}  // namespace

Hca read_hca(const VerbsDevice& device, const HcaContext& context) {
  Hca out;
  out.name = device.name;
  out.uverbs_name = device.uverbs_name;
  out.open_errno = device.open_errno;
  static_cast<DeviceAttributes&>(out) = device;

  const std::string dir = sysfs_dir(device.name);
  const auto device_path = context.sysfs.resolve(dir + "/device");
  out.sysfs_present = device_path || context.sysfs.exists(dir);
  out.device_path = device_path.value_or("");
  read_pci(context, out);
  examine_uverbs(context, out);
  for (const VerbsPort& port : device.ports)
    out.ports.push_back(PortReader(context, out, dir, port).read());
  find_netdev(context, out);
  return out;
}

void read_gids_again(const HcaContext& context, Hca& hca) {
  for (Port& port : hca.ports) {
    if (!port.ethernet()) continue;
    VerbsPort verbs;
    verbs.number = port.number;
    verbs.link_layer = port.link_layer;
    PortReader(context, hca, sysfs_dir(hca.name), verbs).read_again(port);
  }
}

}  // namespace nnd::facts
