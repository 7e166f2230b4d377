#include "facts/subnet.h"

#include <fmt/format.h>

namespace nnd::facts {

namespace {

SubnetVerdict compare_infiniband(const Gid& local, const context::Gid& remote) {
  SubnetVerdict out;
  context::Gid prefix{};
  std::copy(local.raw.begin(), local.raw.begin() + 8, prefix.begin());
  out.local = context::gid_text(prefix) + "/64";
  out.remote = context::gid_text(remote);
  if (std::equal(remote.begin(), remote.begin() + 8, prefix.begin())) {
    out.reach = Reachability::kSame;
    out.why = "same InfiniBand subnet prefix";
  } else {
    out.reach = Reachability::kOtherPrefix;
    out.why = "another InfiniBand subnet prefix; whether a router joins them is not known here";
  }
  return out;
}

void find_own(const Node& node, const Port* local, const context::Gid& remote, SubnetVerdict& out) {
  if (context::gid_link_local(remote)) return;  // two nodes may share one
  for (const Hca& hca : node.hcas)
    for (const Port& port : hca.ports)
      for (const Gid& gid : port.gids)
        if (gid.raw == remote && &port != local) {
          out.own_hca = &hca;
          out.own_port = &port;
          return;
        }
}

std::string neighbour_state(const Network& network, const IpAddress& hop, int ifindex) {
  for (const Neighbour& one : network.neighbours)
    if (one.ifindex == ifindex && one.dst == hop) return one.state;
  return {};
}

SubnetVerdict compare_roce(const Node& node, const Gid& local, const context::Gid& remote) {
  SubnetVerdict out;
  const IpAddress here = gid_address(local.raw);
  const IpAddress there = gid_address(remote);
  out.netdev = local.netdev;
  out.local = local.address ? local.address->text() : here.text();
  out.remote = there.text();
  if (here.family != there.family) {
    out.reach = Reachability::kDifferentFamily;
    out.why = fmt::format("{} here is {}, {} there is {}", out.local,
                          here.family == Family::kIpv4 ? "IPv4" : "IPv6", out.remote,
                          there.family == Family::kIpv4 ? "IPv4" : "IPv6");
    return out;
  }
  if (there.link_local() || here.link_local()) {
    out.why = "a link-local address reaches only its own wire; which wire that is can't be told";
    return out;
  }
  if (!local.address) {
    out.why = fmt::format("the prefix length of {} is not known", out.local);
    return out;
  }
  if (local.address->contains(there)) {
    out.reach = Reachability::kSame;
    out.why = fmt::format("{} is in {}", out.remote, local.subnet());
    out.neighbour = neighbour_state(node.network, there, local.owner_ifindex);
    return out;
  }
  const NetDev* dev = node.network.find(local.owner_ifindex);
  if (!dev) return out;
  out.netdev = dev->name;
  if (const Route* route = route_by(node.network, there, dev->ifindex)) {
    if (route->ifindex == 0) {
      out.why = "a route exists whose interface could not be told";
      return out;
    }
    out.reach = Reachability::kRouted;
    out.gateway = route->via.text();
    out.neighbour = neighbour_state(
        node.network, route->via.family == Family::kNone ? there : route->via, dev->ifindex);
    out.why = fmt::format("{} is outside {}; a route{} leaves by {}", out.remote, local.subnet(),
                          out.gateway.empty() ? "" : " via " + out.gateway, dev->name);
    return out;
  }
  if (!node.network.routes_complete) {
    out.why = "the routes could not all be read";
    return out;
  }
  out.reach = Reachability::kNoRoute;
  out.why = fmt::format("{} is outside {} and no route leaves by {}", out.remote, local.subnet(),
                        dev->name);
  return out;
}

}  // namespace

const Route* route_by(const Network& network, const IpAddress& to, int ifindex) {
  const Route* best = nullptr;
  for (const Route& route : network.routes) {
    if (route.dst.address.family != to.family || !route.dst.contains(to)) continue;
    if (route.ifindex != ifindex && route.ifindex != 0) continue;
    if (!best || route.dst.length > best->dst.length ||
        (route.dst.length == best->dst.length && route.metric < best->metric))
      best = &route;
  }
  return best;
}

SubnetVerdict compare(const Node& node, std::string_view device, unsigned port, int gid_index,
                      const context::Gid& remote) {
  SubnetVerdict out;
  const Port* at = node.find(device, port);
  const Gid* local = at ? at->gid(gid_index) : nullptr;
  out.remote = context::gid_text(remote);
  if (!local || context::gid_zero(remote)) {
    out.why = local ? "the remote GID is empty" : "the local GID is not known";
    return out;
  }
  out = at->infiniband() ? compare_infiniband(*local, remote) : compare_roce(node, *local, remote);
  find_own(node, at, remote, out);
  if (out.own_hca)
    out.why += fmt::format("; that is {}:{} of this node", out.own_hca->name, out.own_port->number);
  return out;
}

const char* reach_text(Reachability reach) {
  switch (reach) {
    case Reachability::kSame:
      return "same";
    case Reachability::kRouted:
      return "routed";
    case Reachability::kNoRoute:
      return "no_route";
    case Reachability::kDifferentFamily:
      return "different_family";
    case Reachability::kOtherPrefix:
      return "other_prefix";
    case Reachability::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace nnd::facts
