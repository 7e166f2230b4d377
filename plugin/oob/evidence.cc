#include "oob/evidence.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "facts/ip.h"
#include "facts/netdev.h"
#include "facts/node.h"
#include "facts/oob.h"
#include "facts/own_sockets.h"
#include "nccl_abi/releases.h"

namespace nnd::oob {

namespace {

using diagnosis::BootStep;
using diagnosis::Bootstrap;
using diagnosis::FarEnd;
using facts::IpAddress;
using facts::IpPrefix;
using facts::NetDev;
using facts::Network;
using state::Boot;
using state::BootCall;
using state::BootRole;
using state::SocketAddress;

std::atomic<int> g_nccl_version{0};

BootStep step_of(const Boot& boot) {
  if (boot.role == BootRole::kRoot)
    return boot.call == BootCall::kConnect ? BootStep::kReply : BootStep::kGather;
  const bool known = boot.first && boot.began_ns != 0;
  switch (boot.call) {
    case BootCall::kConnect:
      if (!known) return BootStep::kConnect;
      return boot.connects == 0 ? BootStep::kRoot : BootStep::kNext;
    case BootCall::kAccept:
      if (!known) return BootStep::kAccept;
      return boot.accepts == 0 ? BootStep::kAnswer : BootStep::kPrevious;
    default:
      return known ? BootStep::kRing : BootStep::kReceive;
  }
}

// The interface of this host that has the address.
const NetDev* owner_of(const Network& network, const SocketAddress& address, IpPrefix* prefix) {
  return address.known() ? network.owner(facts::gid_address(address.ip), nullptr, prefix) : nullptr;
}

bool is_loopback(const NetDev& dev) { return dev.name == "lo"; }

// A bridge for containers or virtual machines, without an interface that leads out of the host:
// each host has its own, mostly with the same addresses.
bool is_private(const Network& network, const NetDev& dev) {
  if (dev.kind != "bridge" || dev.default_route) return false;
  for (const NetDev& one : network.devs)
    if (one.master == dev.name && one.kind != "veth" && one.kind != "tun") return false;
  return true;
}

std::string confined(const Network& network, const NetDev& dev, const IpAddress& address) {
  if (is_loopback(dev)) return "the loopback";
  if (address.link_local()) return "a link-local address";
  const bool named = dev.name.starts_with("docker") || dev.name.starts_with("virbr");
  return named && is_private(network, dev) ? "on a bridge that this host has for itself" : "";
}

FarEnd far_end(const Boot& boot, const std::optional<facts::TcpNow>& now) {
  if (now && now->trying && now->retransmits > 0) return FarEnd::kSilent;
  if (boot.error == ECONNREFUSED || boot.error == ECONNRESET ||
      (boot.error == ECONNABORTED && boot.refused == ECONNREFUSED))
    return FarEnd::kRefuses;
  if (boot.error == ETIMEDOUT) return FarEnd::kSilent;
  return boot.error != 0 ? FarEnd::kUnreachable : FarEnd::kUnknown;
}

// Of the kernel, also where the HCAs are emulated: the sockets are real.
Network network_now(std::uint64_t age_ns) {
  const facts::Node& node = facts::current_node();
  const bool known = node.sysfs == "/sys" && node.network.known;
  return age_ns == 0 && known ? node.network : facts::read_rtnetlink();
}

void add_listener(const Network& network, const SocketAddress& at, Bootstrap& out) {
  if (!at.known()) return;
  out.listener = address_text(at);
  const NetDev* const dev = owner_of(network, at, nullptr);
  if (dev == nullptr) return;
  out.netdev = dev->name;
  // Past the bootstrap the ranks have met there.
  if (!out.past) out.confined = confined(network, *dev, facts::gid_address(at.ip));
  const facts::OobPick& pick = facts::current_node().oob;
  if (pick.netdev == dev->name) out.why = pick.why;
}

void add_source(const Network& network, const SocketAddress& from, Bootstrap& out,
                IpPrefix* prefix) {
  const IpAddress address = facts::gid_address(from.ip);
  // The kernel has not chosen one, or takes it back from an attempt that has ended.
  if (!from.known() || address == IpAddress{address.family}) return;
  out.source = address.text();
  if (const NetDev* const dev = owner_of(network, from, prefix)) out.source_netdev = dev->name;
}

void add_target(const Network& network, const Boot& boot, Bootstrap& out) {
  const auto now = facts::tcp_now(boot.fd);
  out.target = address_text(boot.target);
  out.far = far_end(boot, now);
  out.error = boot.error;
  out.refused = boot.refused;
  out.attempts = boot.attempts;
  if (out.far == FarEnd::kUnknown) return;
  if (now) out.retransmits = now->retransmits;
  IpPrefix own;
  if (now) add_source(network, {now->local.address, now->local.port}, out, &own);
  const IpAddress target = facts::gid_address(boot.target.ip);
  out.link_local = target.link_local();
  for (const NetDev& dev : network.devs)
    for (const IpPrefix& prefix : dev.addresses)
      if ((is_private(network, dev) || is_loopback(dev)) && prefix.contains(target))
        out.bridge = dev.name;
  if (own.length != 0 && own.address.family == target.family && !own.contains(target))
    out.source_subnet = own.network_text();
  for (const facts::Neighbour& one : network.neighbours)
    if (one.dst == target) out.neighbour = one.state;
}

void add_guests(const Boot& boot, Bootstrap& out) {
  out.target = address_text(boot.own);
  out.guests = boot.accepts;
  for (const context::Gid& host : boot.guests)
    if (!context::gid_zero(host)) out.hosts.push_back(facts::gid_address(host).text());
}

}  // namespace

std::string address_text(const SocketAddress& address) {
  if (!address.known()) return "";
  const std::string ip = facts::gid_address(address.ip).text();
  return (ip.find(':') == std::string::npos ? ip : "[" + ip + "]") + ":" +
         std::to_string(address.port);
}

void set_nccl_version(int version) noexcept { g_nccl_version = version; }
int nccl_version() noexcept { return g_nccl_version; }

Bootstrap evidence(const Boot& boot, std::uint64_t age_ns) {
  const Network network = network_now(age_ns);
  Bootstrap out;
  out.step = step_of(boot);
  out.sec = static_cast<double>(age_ns) / 1e9;
  out.past = boot.role == BootRole::kRank && boot.began_ns == 0;
  out.root = address_text(boot.root);
  const char* const id = std::getenv("NCCL_COMM_ID");
  out.id_given = id != nullptr && *id != '\0';
  out.answers_in_pairs = nccl_abi::kRootAnswersInPairs.has(nccl_version());
  add_listener(network, boot.call == BootCall::kAccept ? boot.own : boot.listeners[0], out);
  switch (boot.call) {
    case BootCall::kConnect:
      add_target(network, boot, out);
      break;
    case BootCall::kAccept:
      out.target = address_text(boot.own);
      add_source(network, boot.from, out, nullptr);
      break;
    default:
      out.target = address_text(boot.target);
      break;
  }
  if (out.step == BootStep::kGather) add_guests(boot, out);
  return out;
}

}  // namespace nnd::oob
