// Rules that compare an HCA with its siblings.
#include <algorithm>
#include <map>
#include <utility>

#include "diagnosis/device.h"
#include "policy/candidates.h"
#include "policy/seats.h"

namespace nnd::policy {

namespace {

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

std::string carrier(const facts::Node& node, const Candidate& one) {
  const facts::NetDev* dev = one.netdev(node.network);
  return dev ? dev->name : one.hca->netdev;
}

Action as_sure(const Candidate& one) {
  return one.membership == Membership::kOutside ? Action::kDeny : Action::kWarn;
}

// A bond among plain HCAs is judge_bond's.
bool odd_bond(const Candidate& one) {
  return one.unlike.bonding == diagnosis::Unlike::Bonding::kBond;
}

// It was told that it is not of the fabric: nothing is gained by comparing it with that.
bool told_outside(const Candidate& one) {
  if (one.membership == Membership::kCompute) return false;
  return odd_bond(one) ? one.rules.hca.bond != BondRule::kAllow
                       : one.rules.hca.outside != Action::kAllow;
}

diagnosis::OddBond bond_of(const Candidate& one) {
  diagnosis::OddBond out{one.hca->name,           one.hca->bond, {},
                         one.hca->bond_trouble(), false,         one.unlike};
  for (const facts::BondSlave& slave : one.hca->bond_slaves) out.slaves.push_back(slave.name);
  return out;
}

}  // namespace

void judge_link_layer(const facts::Node&, const Candidates&, const Candidate& one,
                      std::vector<Verdict>& broken) {
  const LinkLayerRule rule = one.rules.hca.link_layer;
  const bool infiniband = one.port->infiniband();
  if ((rule == LinkLayerRule::kInfiniband && !infiniband) ||
      (rule == LinkLayerRule::kRoce && infiniband))
    broken.push_back({"hca.link_layer",
                      diagnose(diagnosis::OddLinkLayer{one.name(), infiniband, true}),
                      Action::kDeny});
  else if (one.unlike.other_layer)
    broken.push_back({"hca.link_layer",
                      diagnose(diagnosis::OddLinkLayer{one.name(), infiniband, false,
                                                       one.unlike.fabric, one.unlike.sure}),
                      as_sure(one)});
}

void judge_bond(const facts::Node&, const Candidates&, const Candidate& one,
                std::vector<Verdict>& broken) {
  if (one.hca->bond.empty() || one.rules.hca.bond == BondRule::kAllow) return;
  diagnosis::OddBond seen = bond_of(one);
  seen.denied = one.rules.hca.bond == BondRule::kDeny;
  if (seen.denied)
    broken.push_back({"hca.bond", diagnose(seen), Action::kDeny});
  else if (odd_bond(one) && one.membership != Membership::kCompute)
    broken.push_back({"hca.bond", diagnose(seen), as_sure(one)});
}

void judge_outside(const facts::Node& node, const Candidates&, const Candidate& one,
                   std::vector<Verdict>& broken) {
  const Action action = one.rules.hca.outside;
  if (action == Action::kAllow || one.membership == Membership::kCompute ||
      one.unlike.other_layer || odd_bond(one))
    return;
  broken.push_back({"hca.outside",
                    diagnose(diagnosis::OutsideFabric{one.name(), carrier(node, one), one.unlike}),
                    std::min(action, as_sure(one))});
}

void judge_default_route(const facts::Node& node, const Candidates& all, const Candidate& one,
                         std::vector<Verdict>& broken) {
  const Action action = one.rules.hca.default_route;
  if (action == Action::kAllow || one.unlike.default_route.empty() || !one.hca->bond.empty() ||
      told_outside(one))
    return;
  const auto peers = peers_of(all, one);
  if (peers.size() < 2) return;  // of two, one has to have it
  broken.push_back({"hca.default_route",
                    diagnose(diagnosis::DefaultRoute{one.name(), one.port->speed_mbps,
                                                     carrier(node, one), peers.size()}),
                    action});
}

void judge_speed(const facts::Node&, const Candidates& all, const Candidate& one,
                 std::vector<Verdict>& broken) {
  const HcaRules& rules = one.rules.hca;
  const auto peers = peers_of(all, one);
  // What the policy allows though it is of another network has that network's speed.
  const bool enough =
      peers.size() >= 2 || (peers.size() == 1 && is_twin(*one.hca, *peers.front()->hca));
  if (!enough || (one.membership != Membership::kCompute && !odd_bond(one)) || told_outside(one))
    return;
  const long median = median_speed(peers);
  const long speed = one.port->speed_mbps;
  const auto add = [&broken](const char* rule, diagnosis::Diagnosis diagnosis, Action action) {
    broken.push_back({rule, std::move(diagnosis), action});
    broken.back().rail_short = true;
  };
  const bool rail = one.unlike.kinds() == 0;
  if (rules.slow != Action::kAllow && speed > 0 && speed * 100 < rules.slow_percent * median)
    add("hca.slow", diagnose(diagnosis::SlowerThanSiblings{one.name(), speed, median, rail}),
        rules.slow);
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
    add("hca.pcie",
        diagnose(diagnosis::SlowPcie{one.hca->name, link.current_gts, link.current_width,
                                     link.max_gts, link.max_width, rail}),
        rules.pcie);
}

void judge_mtu(const facts::Node&, const Candidates& all, const Candidate& one,
               std::vector<Verdict>& broken) {
  const HcaRules& rules = one.rules.hca;
  const long mtu = one.port->active_mtu;
  if (rules.mtu == Action::kAllow || mtu == 0 || told_outside(one)) return;
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

}  // namespace nnd::policy
