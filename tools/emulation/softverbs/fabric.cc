#include "softverbs/fabric.h"

#include <algorithm>
#include <cerrno>

namespace softverbs {

namespace {
constexpr int kPortDown = 1;
constexpr int kPortActive = 4;
}  // namespace

void LinkState::set_link(const std::string& host, const std::string& hca, int port, bool up) {
  links_[{host, hca, port}] = up;
}

void LinkState::set_lost(const std::string& host, bool lost) {
  if (lost)
    lost_.insert(host);
  else
    lost_.erase(host);
}

int LinkState::port_state(const Endpoint& end) const {
  const auto it = links_.find({end.host->name, end.hca->name, end.port->number});
  if (it == links_.end()) return end.port->state;
  return it->second ? kPortActive : kPortDown;
}

bool LinkState::reachable(const Endpoint& end) const {
  return end && port_state(end) == kPortActive && !lost_.count(end.host->name);
}

Fabric::Fabric(const Scenario& scenario) : scenario_(scenario) {
  for (const Host& host : scenario.hosts)
    for (const Hca& hca : host.hcas)
      for (const Port& port : hca.ports) {
        const Endpoint end{&host, &hca, &port};
        for (const GidEntry& entry : port.gids) gids_.emplace(entry.gid, end);
        if (port.lid) lids_.emplace(std::pair{port.network, port.lid}, end);
      }
}

Endpoint Fabric::endpoint(const std::string& host, const std::string& hca, int port) const {
  const Host* h = scenario_.find_host(host);
  const Hca* c = h ? h->find_hca(hca) : nullptr;
  if (!c) return {};
  for (const Port& p : c->ports)
    if (p.number == port) return {h, c, &p};
  return {};
}

Endpoint Fabric::by_gid(const Gid& gid) const {
  const auto it = gids_.find(gid);
  return it == gids_.end() ? Endpoint{} : it->second;
}

Endpoint Fabric::by_lid(const std::string& network, std::uint16_t lid) const {
  const auto it = lids_.find({network, lid});
  return it == lids_.end() ? Endpoint{} : it->second;
}

Resolution Fabric::resolve(const Endpoint& local, const Destination& to,
                           const LinkState& links) const {
  if (local.port->link_layer == LinkLayer::kEthernet) return resolve_roce(local, to, links);
  const Endpoint peer = by_lid(local.port->network, to.dlid);
  if (peer || !to.global) return {0, 0, peer};
  const Endpoint routed = by_gid(to.dgid);  // through an InfiniBand router
  if (routed && route(local.port->gids.front().gid, to.dgid)) return {0, 0, routed};
  return {};
}

Resolution Fabric::resolve_roce(const Endpoint& local, const Destination& to,
                                const LinkState& links) const {
  if (!to.global || to.dgid == kZeroGid) return {EINVAL, 0, {}};
  const auto& gids = local.port->gids;
  const auto own = std::find_if(gids.begin(), gids.end(), [&](const GidEntry& entry) {
    return entry.index == to.sgid_index;
  });
  if (own == gids.end() || own->gid == kZeroGid) return {ENODATA, 0, {}};
  if (is_ipv4(own->gid) != is_ipv4(to.dgid) || is_link_local(own->gid) != is_link_local(to.dgid))
    return {EINVAL, 0, {}};
  const Endpoint peer = by_gid(to.dgid);
  if (peer == local) return {0, 0, peer};
  if (links.port_state(local) != kPortActive) return {ENETUNREACH, 0, {}};
  if (on_link(local, own->gid, {}) && on_link(local, to.dgid, peer)) {
    if (!links.joined(local, peer)) return {ETIMEDOUT, scenario_.resolve_timeout_ms, {}};
    return {0, 0, peer};
  }
  if (const Route* way = route(own->gid, to.dgid)) {
    const bool arrives = !way->lossy && links.reachable(peer);
    return {0, 0, arrives ? peer : Endpoint{}};
  }
  if (!is_ipv4(to.dgid)) return {ENETUNREACH, 0, {}};
  return {ETIMEDOUT, scenario_.resolve_timeout_ms, {}};
}

// The address is inside a network of the local netdev, or link-local on the same wire.
bool Fabric::on_link(const Endpoint& local, const Gid& to, const Endpoint& peer) const {
  if (is_link_local(to)) return !peer || peer.port->network == local.port->network;
  const Netdev* netdev = local.host->find_netdev(local.port->netdev);
  if (!netdev) return false;
  return std::any_of(netdev->addresses.begin(), netdev->addresses.end(),
                     [&](const Prefix& prefix) { return prefix.contains(to); });
}

const Route* Fabric::route(const Gid& from, const Gid& to) const {
  for (const Route& way : scenario_.routes)
    if ((way.from.contains(from) && way.to.contains(to)) ||
        (way.from.contains(to) && way.to.contains(from)))
      return &way;
  return nullptr;
}

}  // namespace softverbs
