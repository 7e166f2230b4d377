#include "facts/node.h"

#include <fmt/format.h>
#include <strings.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "facts/hca.h"

namespace nnd::facts {

namespace {

constexpr int kActive = 4;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::string text_of(const HcaEntry& entry) {
  return entry.port < 0 ? entry.name : fmt::format("{}:{}", entry.name, entry.port);
}

// In the order of NCCL's own loop: what it looks at first is the reason that is given. Its limit,
// which comes before all, is given last: a port is beyond it that NCCL would take were there room.
void judge_port(const Node& node, bool disabled, bool over_limit, const Hca& hca, Port& port) {
  const auto skip = [&port](PortChoice why, std::string reason) {
    port.choice = why;
    port.reasons.push_back(std::move(reason));
  };
  if (disabled) return skip(PortChoice::kIbDisabled, "NCCL_IB_DISABLE is set");
  if (hca.open_errno != 0)
    return skip(PortChoice::kOpenFailed,
                fmt::format("ibv_open_device: {}", std::strerror(hca.open_errno)));
  if (port.query_errno != 0)
    return skip(PortChoice::kQueryFailed,
                fmt::format("ibv_query_port: {}", std::strerror(port.query_errno)));
  if (port.state != kActive) {
    std::string reason = port_state_text(port.state);
    if (port.phys_state != 0 && port.phys_state != 5)
      reason += fmt::format(", {}", phys_state_text(port.phys_state));
    else if (port.infiniband() && port.sm_lid == 0)
      reason += ", no subnet manager";
    return skip(PortChoice::kNotActive, std::move(reason));
  }
  if (!port.infiniband() && !port.ethernet())
    return skip(PortChoice::kLinkLayer, fmt::format("link layer {}", port.link_layer));
  const HcaEntry* entry = node.filter.match(hca.name, port.number);
  if (!node.filter.takes(hca.name, port.number))
    return skip(PortChoice::kUserFilter,
                entry ? fmt::format("excluded by NCCL_IB_HCA entry {}", text_of(*entry))
                      : "not in NCCL_IB_HCA");
  if (over_limit)
    return skip(PortChoice::kOverLimit,
                fmt::format("NCCL takes {} at most", max_ib_devices(node.nccl_version)));
  if (entry) {
    port.nccl_rail = entry->rail;
    port.nccl_plane = entry->plane;
    port.reasons.push_back(fmt::format("NCCL_IB_HCA entry {}", text_of(*entry)));
  }
}

void judge_ports(Node& node, const Environment& environment) {
  const bool disabled = environment.number("NCCL_IB_DISABLE", 0) != 0;
  const int limit = max_ib_devices(node.nccl_version);
  int taken = 0;
  for (Hca& hca : node.hcas) {
    const bool over_limit = taken >= limit;  // looked at once per device
    for (Port& port : hca.ports) {
      judge_port(node, disabled, over_limit, hca, port);
      if (port.choice == PortChoice::kTaken) ++taken;
    }
  }
}

// Containers that were given some of the node's HCAs still list the others: that is no fault. What
// libibverbs fails with is its open() of the device node.
bool kept_from_us(const Hca& hca) {
  return hca.uverbs == UverbsState::kMissing ||
         (hca.uverbs == UverbsState::kNotExamined && hca.open_errno == ENOENT);
}

diagnosis::CannotOpen::Node kept_by(const Hca& hca) {
  using Kept = diagnosis::CannotOpen::Node;
  if (kept_from_us(hca)) return Kept::kMissing;
  if (hca.uverbs != UverbsState::kDenied) return Kept::kNotKnown;
  return hca.uverbs_errno == EPERM ? Kept::kCgroup : Kept::kPermissions;
}

void find_closed(Node& node) {
  const bool some_usable = std::any_of(node.hcas.begin(), node.hcas.end(),
                                       [](const Hca& hca) { return hca.open_errno == 0; });
  for (Hca& hca : node.hcas) {
    if (hca.open_errno == 0 || !node.filter.takes(hca.name, -1)) continue;
    if (kept_from_us(hca) && some_usable) continue;
    hca.closed = {hca.name, hca.open_errno, kept_by(hca), hca.uverbs_name,
                  hca.uverbs != UverbsState::kNotExamined && node.system.container.empty()};
  }
}

bool any_infiniband(const Node& node, const FileTree& sysfs) {
  return node.pci.infiniband ||
         std::any_of(node.sysfs_hcas.begin(), node.sysfs_hcas.end(), [&](const std::string& name) {
           return sysfs.read("class/infiniband/" + name + "/ports/1/link_layer", 64).text ==
                  "InfiniBand";
         });
}

void find_near_gpus(const std::vector<PciFunction>& gpus, Hca& hca) {
  if (hca.pci.empty()) return;
  for (const PciFunction& gpu : gpus) {
    const PciDistance distance = pci_distance(hca.device_path, hca.numa, gpu.path, gpu.numa);
    if (distance > hca.gpu_distance) continue;
    if (distance < hca.gpu_distance) hca.near_gpus.clear();
    hca.gpu_distance = distance;
    if (distance != PciDistance::kUnknown) hca.near_gpus.push_back(gpu.address);
  }
}

// NCCL compares the name without regard to case.
bool rdma_unwanted(const Environment& environment) {
  const std::string* net = environment.get("NCCL_NET");
  return environment.number("NCCL_IB_DISABLE", 0) != 0 ||
         (net && !net->empty() && strcasecmp(net->c_str(), "IB") != 0);
}

std::string tcp_by(const Environment& environment) {
  const std::string* net = environment.get("NCCL_NET");
  if (net && strcasecmp(net->c_str(), "Socket") == 0) return "NCCL_NET=" + *net;
  if (environment.number("NCCL_IB_DISABLE", 0) == 0) return {};
  return "NCCL_IB_DISABLE=" + *environment.get("NCCL_IB_DISABLE");
}

struct Kept {
  Node node;
  Kept* previous;
};
// A list and not one node: somebody may still read the older one. No lock, for the sake of forks.
std::atomic<Kept*> g_kept{nullptr};

}  // namespace

const Gid* Port::gid(int index) const {
  const auto it = std::find_if(gids.begin(), gids.end(), [index](const Gid& gid) {
    return index >= 0 && gid.index == static_cast<unsigned>(index);
  });
  return it == gids.end() ? nullptr : &*it;
}

std::string Port::link_text() const {
  const char* layer = infiniband() ? "IB" : ethernet() ? "RoCE" : "?";
  return speed_mbps == 0 ? std::string(layer)
                         : fmt::format("{} {:g}G", layer, static_cast<double>(speed_mbps) / 1000);
}

std::string Hca::bond_trouble() const {
  std::vector<std::string> parts;
  std::vector<std::string> speeds;
  bool differ = false;
  for (const BondSlave& slave : bond_slaves) {
    if (slave.operstate == "down" || slave.operstate == "lowerlayerdown")
      parts.push_back(slave.name + " is down");
    if (slave.speed_mbps == 0) continue;
    differ = differ || slave.speed_mbps != bond_slaves.front().speed_mbps;
    speeds.push_back(
        fmt::format("{} {:g} Gbit/s", slave.name, static_cast<double>(slave.speed_mbps) / 1000));
  }
  if (differ && speeds.size() == bond_slaves.size())
    parts.push_back(fmt::format("{}", fmt::join(speeds, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

const Hca* Node::find(std::string_view device) const {
  const auto it = std::find_if(hcas.begin(), hcas.end(),
                               [device](const Hca& hca) { return hca.name == device; });
  return it == hcas.end() ? nullptr : &*it;
}

const Port* Node::find(std::string_view device, unsigned port) const {
  const Hca* hca = find(device);
  if (!hca) return nullptr;
  for (const Port& at : hca->ports)
    if (at.number == port) return &at;
  return nullptr;
}

Sources Sources::of_process(const config::Settings& settings, int nccl_version) {
  Sources out;
  out.sysfs = settings.sysfs;
  out.nccl_version = nccl_version;
  out.environment = Environment::of_process();
  out.environment.read_as(nccl_version);
  if (const std::string* home = out.environment.get("HOME")) out.home = *home;
  return out;
}

std::optional<diagnosis::NoDevicePath> crash_of(const Node& node, const Hca& hca) {
  const bool taken = std::any_of(hca.ports.begin(), hca.ports.end(), [](const Port& port) {
    return port.choice == PortChoice::kTaken;
  });
  if (!taken || !hca.device_path.empty() || !crashes_without_pci_path(node.nccl_version))
    return std::nullopt;
  return diagnosis::NoDevicePath{hca.name, node.nccl_version};
}

bool expects_rdma(const Node& node) {
  if (!node.hcas.empty())
    return std::any_of(node.hcas.begin(), node.hcas.end(), [](const Hca& hca) {
      return hca.ports.empty() ||
             std::any_of(hca.ports.begin(), hca.ports.end(), [](const Port& port) {
               return port.infiniband() || port.ethernet() || port.query_errno != 0;
             });
    });
  const bool hardware = !node.sysfs_hcas.empty() || node.pci.rdma != 0;
  return hardware && (node.infiniband_hardware || !node.pci.gpus.empty());
}

GdrState judge_gdr(const Node& node, std::optional<int> dmabuf_errno) {
  GdrInput input;
  input.nvidia_driver = node.system.gpu_driver_loaded;
  input.open_driver = node.system.gpu_driver_open;
  input.kernel_major = node.system.kernel_major;
  input.kernel_minor = node.system.kernel_minor;
  input.dmabuf_errno = dmabuf_errno;
  input.gpu_rdma = node.gpu_driver.any_rdma();
  input.gpu_dmabuf = node.gpu_driver.any_dmabuf();
  return judge_gdr(node.peer_memory, input);
}

Node collect(const std::vector<VerbsDevice>& devices, const Sources& sources) {
  const std::uint64_t start = now_ns();
  Node node;
  node.nccl_version = sources.nccl_version;
  node.sysfs = sources.sysfs;
  node.filter = HcaFilter::parse(sources.environment.get("NCCL_IB_HCA"), sources.nccl_version);
  node.rdma_unwanted = rdma_unwanted(sources.environment);
  node.tcp_by = tcp_by(sources.environment);
  node.network = read_network(sources.sysfs);
  node.oob = pick_oob(node.network, sources.environment);
  const FileTree sysfs(sources.sysfs);
  node.system = read_system({sysfs, sources.root, sources.home, sources.environment});
  node.gpu_driver = sources.gpu_driver;
  node.peer_memory = read_peer_memory(sysfs, sources.nccl_version);
  node.sysfs_hcas = sysfs.list("class/infiniband");
  const bool none_shown = devices.empty() && node.sysfs_hcas.empty();
  node.pci = read_pci_bus(sysfs, sources.whole_pci_bus || none_shown);
  const bool own_machine = sources.sysfs == "/sys" || !sources.root.empty();
  if (sources.whole_pci_bus && own_machine) name_gpus(FileTree(sources.root), node.pci.gpus);
  if (devices.empty()) node.infiniband_hardware = any_infiniband(node, sysfs);

  const HcaContext context{sysfs,        FileTree(sources.root), own_machine,
                           node.network, sources.environment,    sources.nccl_version};
  for (const VerbsDevice& device : devices) {
    Hca hca = read_hca(device, context);
    const auto probed = sources.dmabuf_errno.find(device.name);
    hca.gdr =
        judge_gdr(node, probed == sources.dmabuf_errno.end() ? std::nullopt
                                                             : std::optional<int>(probed->second));
    find_near_gpus(node.pci.gpus, hca);
    node.hcas.push_back(std::move(hca));
  }
  judge_ports(node, sources.environment);
  find_closed(node);
  node.collect_ns = now_ns() - start;
  return node;
}

std::string hca_summary(const Node& node, const RefusedBy& refused) {
  std::string taken;
  std::string kept;
  std::string skipped;
  const auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  for (const Hca& hca : node.hcas) {
    if (hca.ports.empty())
      add(skipped, fmt::format("{} ({})", hca.name,
                               hca.open_errno != 0 ? std::strerror(hca.open_errno) : "no ports"));
    for (const Port& port : hca.ports) {
      const std::string name = fmt::format("{}:{}", hca.name, port.number);
      const std::string why = refused ? refused(hca.name, port.number) : std::string();
      if (!why.empty())
        add(kept, fmt::format("{} ({})", name, why));
      else if (port.choice == PortChoice::kTaken)
        add(taken, fmt::format("{}/{}", name, port.link_text()));
      else
        add(skipped,
            fmt::format("{} ({})", name,
                        port.reasons.empty() ? choice_text(port.choice) : port.reasons.front()));
    }
  }
  return fmt::format("HCAs taken: {}{}{}{}{}", taken.empty() ? "none" : taken,
                     kept.empty() ? "" : "; refused: ", kept,
                     skipped.empty() ? "" : "; skipped: ", skipped);
}

const Node& current_node() noexcept {
  static const Node kEmpty;
  const Kept* kept = g_kept.load(std::memory_order_acquire);
  return kept ? kept->node : kEmpty;
}

diagnosis::LockedMemory locked_memory() {
  const Limits& known = current_node().system.limits;
  return locked_memory(known.known() ? known : read_limits(FileTree("")));
}

void set_current_node(Node node) {
  auto* kept = new Kept{std::move(node), g_kept.load(std::memory_order_relaxed)};
  while (!g_kept.compare_exchange_weak(kept->previous, kept, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

}  // namespace nnd::facts
