// Rules that compare an HCA with its siblings.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "diagnosis/device.h"
#include "policy/candidates.h"

namespace nnd::policy {

namespace {

using diagnosis::gbits;
using facts::IpPrefix;

std::optional<IpPrefix> address_of(const Candidate& one) {
  const facts::Gid* gid = one.port->picked();
  if (!gid || !gid->address || gid->address->address.link_local()) return std::nullopt;
  return gid->address;
}

// What the addresses have in common, shortened to whole octets (IPv6: to 16 bits), so that one more
// rail of the same plan is inside. Nothing where they have little in common.
std::optional<IpPrefix> common_network(const std::vector<IpPrefix>& addresses) {
  if (addresses.empty()) return std::nullopt;
  IpPrefix out = addresses.front();
  for (const IpPrefix& other : addresses) {
    if (other.address.family != out.address.family) return std::nullopt;
    out.length = std::min(out.length, other.length);
    while (out.length > 0 && !out.contains(other.address)) --out.length;
  }
  const unsigned step = out.address.family == facts::Family::kIpv4 ? 8 : 16;
  const bool one_subnet =
      std::all_of(addresses.begin(), addresses.end(),
                  [&](const IpPrefix& other) { return other.length == out.length; });
  if (!one_subnet) out.length -= out.length % step;
  if (out.length < step) return std::nullopt;
  return out;
}

// What more than half of `population` have; 0: nothing.
template <typename Get>
long most_common(const std::vector<const Candidate*>& among, std::size_t population, Get get) {
  std::map<long, std::size_t> counts;
  for (const Candidate* one : among)
    if (const long value = get(*one); value > 0) ++counts[value];
  for (const auto& [value, count] : counts)
    if (count * 2 > population) return value;
  return 0;
}

long speed_of(const Candidate& one) { return one.port->speed_mbps; }

bool has_default_route(const facts::Node& node, const Candidate& one) {
  const facts::NetDev* dev = one.netdev(node.network);
  return dev && dev->default_route;
}

std::string carrier(const facts::Node& node, const Candidate& one) {
  const facts::NetDev* dev = one.netdev(node.network);
  return dev ? dev->name : one.hca->netdev;
}

// In what the bond differs from the plain HCAs; empty: in nothing.
std::vector<std::string> unlike(const facts::Node& node, const Candidate& one,
                                const std::vector<const Candidate*>& plain) {
  std::vector<std::string> parts;
  const long usual = most_common(plain, plain.size(), speed_of);
  if (usual != 0 && one.port->speed_mbps != 0 && one.port->speed_mbps != usual)
    parts.push_back(
        fmt::format("{} where most have {}", gbits(one.port->speed_mbps), gbits(usual)));
  const bool others_route = std::any_of(plain.begin(), plain.end(), [&](const Candidate* peer) {
    return has_default_route(node, *peer);
  });
  if (has_default_route(node, one) && !others_route) parts.emplace_back("the default route");
  std::vector<IpPrefix> addresses;
  for (const Candidate* peer : plain)
    if (const auto address = address_of(*peer)) addresses.push_back(*address);
  const auto own = address_of(one);
  // One other HCA makes no plan of subnets: two rails may well differ.
  if (own && addresses.size() >= 2)
    if (const auto network = common_network(addresses); network && !network->contains(own->address))
      parts.push_back(fmt::format("subnet {} where the others are in {}", own->network_text(),
                                  network->network_text()));
  return parts;
}

diagnosis::OddBond bond_of(const Candidate& one) {
  diagnosis::OddBond out{one.hca->name, one.hca->bond, {}, one.hca->bond_trouble()};
  for (const facts::BondSlave& slave : one.hca->bond_slaves) out.slaves.push_back(slave.name);
  return out;
}

}  // namespace

void judge_link_layer(const facts::Node&, const Candidates& all, const Candidate& one,
                      std::vector<Verdict>& broken) {
  const LinkLayerRule rule = one.rules.hca.link_layer;
  if (rule == LinkLayerRule::kAny) return;
  diagnosis::OddLinkLayer seen{one.name(), one.port->infiniband(),
                               rule != LinkLayerRule::kMajority};
  bool wanted_infiniband = rule == LinkLayerRule::kInfiniband;
  if (rule == LinkLayerRule::kMajority) {
    for (const Candidate& other : all)
      if (!other.out) (other.port->infiniband() ? seen.infiniband_ports : seen.ethernet_ports) += 1;
    if (seen.infiniband_ports == 0 || seen.ethernet_ports == 0) return;
    // A tie goes to InfiniBand: nobody cables it for storage or management alone.
    wanted_infiniband = seen.infiniband_ports >= seen.ethernet_ports;
  }
  if (seen.infiniband != wanted_infiniband)
    broken.push_back({"hca.link_layer", diagnose(seen), Action::kDeny});
}

void judge_bond(const facts::Node& node, const Candidates& all, const Candidate& one,
                std::vector<Verdict>& broken) {
  if (one.hca->bond.empty() || one.rules.hca.bond == BondRule::kAllow) return;
  diagnosis::OddBond seen = bond_of(one);
  if (one.rules.hca.bond == BondRule::kDeny) {
    seen.denied = true;
    broken.push_back({"hca.bond", diagnose(seen), Action::kDeny});
    return;
  }
  std::vector<const Candidate*> plain;
  for (const Candidate* peer : peers_of(all, one))
    if (peer->hca->bond.empty()) plain.push_back(peer);
  std::size_t bonds = 1;
  for (const Candidate* peer : peers_of(all, one)) bonds += peer->hca->bond.empty() ? 0 : 1;
  if (plain.size() < bonds) return;  // where bonds are the rule, they are meant
  seen.plain = plain.size();
  seen.differences = unlike(node, one, plain);
  if (!seen.differences.empty()) broken.push_back({"hca.bond", diagnose(seen), Action::kDeny});
}

void judge_default_route(const facts::Node& node, const Candidates& all, const Candidate& one,
                         std::vector<Verdict>& broken) {
  const Action action = one.rules.hca.default_route;
  if (action == Action::kAllow || !one.port->ethernet() || !has_default_route(node, one)) return;
  if (!one.hca->bond.empty())
    return;  // judge_bond's: a fleet of bonds has its default route on one
  const auto peers = peers_of(all, one);
  const auto carriers = 1 + std::count_if(peers.begin(), peers.end(), [&](const Candidate* peer) {
                          return has_default_route(node, *peer);
                        });
  // Where half of them carry one, or it is the only HCA, there is nothing odd about it.
  if (peers.size() < 2 || static_cast<std::size_t>(carriers) * 2 > peers.size()) return;
  broken.push_back(
      {"hca.default_route",
       diagnose(diagnosis::DefaultRoute{one.name(), one.port->speed_mbps, carrier(node, one),
                                        peers.size() + 1 - static_cast<std::size_t>(carriers)}),
       action});
}

void judge_speed(const facts::Node&, const Candidates& all, const Candidate& one,
                 std::vector<Verdict>& broken) {
  const HcaRules& rules = one.rules.hca;
  const auto peers = peers_of(all, one);
  if (peers.size() < 2) return;
  const long median = median_speed(peers);
  const long speed = one.port->speed_mbps;
  if (rules.slow != Action::kAllow && speed > 0 && speed * 100 < rules.slow_percent * median)
    broken.push_back({"hca.slow",
                      diagnose(diagnosis::SlowerThanSiblings{one.name(), speed, median}),
                      rules.slow});
  const facts::PcieLink& link = one.hca->pcie;
  const auto throughput = [](const facts::PcieLink& of) {
    return of.current_gts * of.current_width;
  };
  const auto worse_than_one = [&](const Candidate* peer) {
    return peer->hca != one.hca && throughput(link) < throughput(peer->hca->pcie);
  };
  if (rules.pcie != Action::kAllow && link.below_max() && throughput(link) > 0 &&
      std::count_if(peers.begin(), peers.end(), worse_than_one) * 2 >
          static_cast<long>(peers.size()))
    broken.push_back(
        {"hca.pcie",
         diagnose(diagnosis::SlowPcie{one.hca->name, link.current_gts, link.current_width,
                                      link.max_gts, link.max_width}),
         rules.pcie});
}

void judge_mtu(const facts::Node&, const Candidates& all, const Candidate& one,
               std::vector<Verdict>& broken) {
  const HcaRules& rules = one.rules.hca;
  const long mtu = one.port->active_mtu;
  if (rules.mtu == Action::kAllow || mtu == 0) return;
  const auto peers = peers_of(all, one);
  const long usual =
      peers.size() < 2 ? 0 : most_common(peers, peers.size() + 1, [](const Candidate& peer) {
        return static_cast<long>(peer.port->active_mtu);
      });
  if (mtu >= rules.min_mtu && mtu >= usual) return;
  const long minimum = mtu < rules.min_mtu ? rules.min_mtu : 0;
  broken.push_back({"hca.mtu",
                    diagnose(diagnosis::SmallMtu{one.name(), one.hca->netdev, mtu, minimum, usual}),
                    rules.mtu});
}

void judge_function(const facts::Node&, const Candidates& all, const Candidate& one,
                    std::vector<Verdict>& broken) {
  const Action action = one.rules.hca.vf_with_pf;
  if (action == Action::kAllow || !one.hca->is_virtual()) return;
  for (const Candidate& other : all)
    if (!other.out && other.hca->pci == one.hca->physfn)
      return broken.push_back(
          {"hca.vf_with_pf",
           diagnose(diagnosis::VirtualBesidePhysical{one.hca->name, other.hca->name}), action});
}

}  // namespace nnd::policy
