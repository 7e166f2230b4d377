#include "watch/own_facts.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "config/nccl_variables.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "context/quiet.h"
#include "facts/events.h"
#include "facts/nccl_devices.h"
#include "nccl_abi/releases.h"

namespace nnd::watch {

namespace {

using peers::Fusion;
using peers::Gids;
using peers::GpuDirect;
using peers::LinkLayer;
using peers::Transport;

struct Noted {
  context::ForkMutex lock;
  std::atomic<std::uint32_t> changes{0};
  Transport transport = Transport::kUnknown;
  std::uint32_t nccl = 0, version = 0;
  GdrFound gdr;
};
Noted& noted() {
  static context::Immortal<Noted> instance;
  return *instance;
}

Transport transport_of(std::string_view name) {
  return name == "IB" ? Transport::kIb : name == "Socket" ? Transport::kSocket : Transport::kOther;
}

facts::Environment environment_of(const facts::Node& node) {
  facts::Environment out({node.system.environment.begin(), node.system.environment.end()});
  out.read_as(node.nccl_version);
  return out;
}

// The one value that all have; the first, which says nothing, where they don't.
template <class E>
class Common {
 public:
  void add(E value) {
    if (none_) value_ = value;
    if (value_ != value) value_ = E::kUnknown;
    none_ = false;
  }
  E value() const { return value_; }

 private:
  bool none_ = true;
  E value_ = E::kUnknown;
};

LinkLayer link_layer_of(const facts::Port& port) {
  return port.infiniband() ? LinkLayer::kInfiniBand
         : port.ethernet() ? LinkLayer::kEthernet
                           : LinkLayer::kUnknown;
}

Gids gids_of(const facts::Port& port) {
  const facts::Gid* const gid = port.picked();
  if (!port.ethernet() || gid == nullptr || !port.pick.certain) return Gids::kUnknown;
  if (gid->type == facts::GidType::kRoceV1) return Gids::kRoceV1;
  if (gid->type != facts::GidType::kRoceV2) return Gids::kUnknown;
  return context::gid_ipv4(gid->raw) ? Gids::kIpv4 : Gids::kIpv6;
}

GpuDirect gpu_direct_of(const facts::Node& node, const facts::Hca& hca, const GdrFound& found) {
  const auto later = found.find(hca.name);
  if (later == found.end() && facts::gdr_to_come(node, hca)) return GpuDirect::kUnknown;
  const facts::GdrState& state = later == found.end() ? hca.gdr : later->second;
  const bool works = state.way == facts::GdrWay::kPeermem || state.way == facts::GdrWay::kDmabuf;
  if (works) return GpuDirect::kWorks;
  // GPUs that can't are as they are.
  const bool none = state.way == facts::GdrWay::kNone && !state.gpu_lacks;
  return none ? GpuDirect::kNone : GpuDirect::kUnknown;
}

bool is_taken(const facts::Port& port) { return port.choice == facts::PortChoice::kTaken; }

void add_ports(peers::ProcessFacts& out, const facts::Node& node, const GdrFound& found) {
  Common<LinkLayer> layers;
  Common<Gids> gids;
  Common<GpuDirect> direct;
  for (const facts::Hca& hca : node.hcas) {
    for (const facts::Port& port : hca.ports) {
      if (!is_taken(port)) continue;
      ++out.ports;
      out.speed_mbps = std::max(out.speed_mbps, static_cast<std::uint32_t>(port.speed_mbps));
      out.mtu = std::max(out.mtu, static_cast<std::uint16_t>(port.active_mtu));
      layers.add(link_layer_of(port));
      gids.add(gids_of(port));
    }
    if (std::any_of(hca.ports.begin(), hca.ports.end(), is_taken))
      direct.add(gpu_direct_of(node, hca, found));
  }
  out.link_layer = layers.value();
  out.gids = gids.value();
  if (node.system.gpu_driver_loaded) out.gpu_direct = direct.value();
}

// Only where cards have several ports that could be fused, and nobody has set more than whether
// they are.
Fusion fusion_of(const facts::Node& node, const facts::Environment& environment) {
  std::map<std::string, int> ports;
  for (const facts::Hca& hca : node.hcas)
    for (const facts::Port& port : hca.ports)
      if (is_taken(port)) ++ports[hca.card()];
  constexpr nccl_abi::Releases kMerges{nccl_abi::kMergesInInit.first};
  const bool several =
      std::any_of(ports.begin(), ports.end(), [](const auto& card) { return card.second > 1; });
  const bool by_default = environment.get("NCCL_NET_MERGE_LEVEL") == nullptr &&
                          environment.get("NCCL_NET_FORCE_MERGE") == nullptr;
  if (!several || !by_default || !kMerges.has(node.nccl_version)) return Fusion::kUnknown;
  return environment.number("NCCL_IB_MERGE_NICS", 1) != 0 ? Fusion::kOn : Fusion::kOff;
}

// As NCCL's transport puts it there. The traffic class counts with RoCE, the service level without.
void add_qps(peers::ProcessFacts& out, const facts::Node& node,
             const facts::Environment& environment) {
  const facts::NcclQp qp = facts::nccl_qp(environment, node.nccl_version);
  out.qps = qp.count;
  if (out.link_layer == LinkLayer::kEthernet) out.traffic_class = qp.traffic_class;
  if (out.link_layer == LinkLayer::kInfiniBand) out.service_level = qp.service_level;
}

}  // namespace

void note_transport(const std::string& name, int nccl_version, std::string_view version) noexcept {
  context::quietly([&] {
    const std::lock_guard guard(noted().lock);
    noted().transport = transport_of(name);
    noted().nccl = static_cast<std::uint32_t>(std::max(nccl_version, 0));
    noted().version = release_code(version);
    ++noted().changes;
  });
}

void note_gdr(std::string_view device, const facts::GdrState& state) noexcept {
  context::quietly([&] {
    const std::lock_guard guard(noted().lock);
    noted().gdr[std::string(device)] = state;
    ++noted().changes;
  });
}

std::uint32_t release_code(std::string_view text) noexcept {
  std::uint32_t out = 0, part = 0;
  int dots = 0;
  for (const char c : text) {
    if (c == '.' && dots < 2) {
      out = out * 100 + part;
      part = 0;
      ++dots;
    } else if (c >= '0' && c <= '9' && part < 100) {
      part = part * 10 + static_cast<std::uint32_t>(c - '0');
    } else {
      return 0;
    }
  }
  return dots == 2 && part < 100 ? out * 100 + part : 0;
}

peers::ProcessFacts facts_of(const facts::Node& node, Transport transport, const GdrFound& gdr) {
  peers::ProcessFacts out;
  out.transport = transport;
  if (transport == Transport::kIb) {
    const facts::Environment environment = environment_of(node);
    add_ports(out, node, gdr);
    add_qps(out, node, environment);
    out.fusion = fusion_of(node, environment);
  }
  peers::set_settings(out, variables_of(node));
  return out;
}

peers::Variables variables_of(const facts::Node& node) {
  peers::Variables out;
  const auto add = [&out](std::string_view name, std::optional<std::string> shown) {
    out.try_emplace(peers::hash_of_name(name),
                    peers::Variable{std::string(name), std::move(shown)});
  };
  for (const auto& [name, shown] : node.system.environment)
    if (peers::is_compared(name)) add(name, shown);
  for (const std::string_view name : config::network_variables())
    if (peers::is_compared(name)) add(name, {});
  return out;
}

const peers::ProcessFacts& OwnFacts::now() {
  const facts::Node& node = facts::current_node();
  const std::uint32_t changes = noted().changes.load();
  if (node_ == &node && noted_ == changes) return facts_;
  const std::lock_guard guard(noted().lock);
  facts_ = facts_of(node, noted().transport, noted().gdr);
  facts_.nccl = noted().nccl;
  facts_.version = noted().version;
  variables_ = variables_of(node);
  // The environment is not known before the node is: no variable is unset.
  const bool collected = node.collect_ns != 0;
  if (!collected) variables_.clear();
  facts_.all_settings = facts_.all_settings && collected;
  node_ = &node;
  noted_ = changes;
  return facts_;
}

}  // namespace nnd::watch
