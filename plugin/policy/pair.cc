#include "policy/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnosis/pair.h"

namespace nnd::policy {

namespace {

using facts::GidType;
using facts::Reachability;

class PairJudge {
 public:
  PairJudge(const facts::Node& node, const Policy& policy, Mode mode, const Pair& pair)
      : node_(node),
        rules_(policy.pair),
        traffic_class_(policy.roce.traffic_class),
        mode_(mode),
        pair_(pair),
        name_(fmt::format("{}:{}", pair.device, pair.port)),
        port_(node.find(pair.device, pair.port)) {}

  PairJudgement judge() {
    judge_link_layer();
    if (pair_.gid_index >= 0 && !context::gid_zero(pair_.remote)) {
      out_.subnet = facts::compare(node_, pair_.device, pair_.port, pair_.gid_index, pair_.remote);
      judge_subnet();
      judge_type();
      judge_traffic_class();
    }
    judge_mtu();
    if (pair_.local_rail >= 0 && pair_.remote_rail >= 0 && pair_.local_rail != pair_.remote_rail)
      add("pair.rail", diagnose(diagnosis::UnlikeRails{name_, pair_.local_rail, pair_.remote_rail}),
          rules_.rail);
    return std::move(out_);
  }

 private:
  void add(const char* rule, diagnosis::Diagnosis diagnosis, Action action) {
    if (action == Action::kAllow) return;
    Verdict verdict{rule, std::move(diagnosis), action, std::string(pair_.device), pair_.port};
    verdict.decision = decide(action, mode_);
    if (verdict.decision == Decision::kRefuse && !out_.refused) out_.refused = out_.verdicts.size();
    out_.verdicts.push_back(std::move(verdict));
  }

  void judge_link_layer() {
    if (!port_) return;
    const diagnosis::LinkLayers layers{port_->link_layer, pair_.remote_link_layer};
    if (layers.peer != 0 && layers.peer != layers.local)
      add("pair.link_layer", diagnose(diagnosis::UnlikeLinkLayers{name_, layers}),
          rules_.link_layer);
  }

  diagnosis::UnlikeSubnets ends() const {
    const facts::SubnetVerdict& subnet = out_.subnet;
    diagnosis::UnlikeSubnets out{{name_},      subnet.local, subnet.remote,   subnet.netdev,
                                 subnet.reach, pair_.odd,    pair_.rail_short};
    if (const facts::Hca* hca = node_.find(pair_.device)) add_bond(*hca, out.here);
    if (!subnet.own_hca) {
      add_siblings(out);
      return out;
    }
    out.peer.place = fmt::format("{}:{}", subnet.own_hca->name, subnet.own_port->number);
    add_bond(*subnet.own_hca, out.peer);
    for (const facts::Gid& gid : subnet.own_port->gids)
      if (gid.raw == pair_.remote) out.peer_subnet = gid.subnet();
    for (const char* variable : {"NCCL_SHM_DISABLE", "NCCL_P2P_DISABLE"})
      if (is_on(variable)) out.turned_off.emplace_back(variable);
    return out;
  }

  bool is_on(std::string_view variable) const {
    const auto& set = node_.system.environment;
    return std::any_of(set.begin(), set.end(), [variable](const auto& one) {
      return one.first == variable && !one.second.empty() && one.second != "0";
    });
  }

  static void add_bond(const facts::Hca& hca, diagnosis::UnlikeSubnets::End& end) {
    end.bond = hca.bond;
    for (const facts::BondSlave& slave : hca.bond_slaves) end.slaves.push_back(slave.name);
  }

  void judge_subnet() {
    if (out_.subnet.own_hca) {
      diagnosis::UnlikeSubnets forbidden = ends();
      forbidden.local_forbidden = true;
      add("pair.local", diagnose(forbidden), rules_.local);
      if (rules_.local == Action::kDeny) return;
    }
    switch (out_.subnet.reach) {
      case Reachability::kDifferentFamily:
        return add("pair.family", diagnose(ends()), rules_.family);
      case Reachability::kNoRoute:
        if (rules_.subnet != PairSubnet::kAny) add("pair.subnet", diagnose(ends()), Action::kDeny);
        return;
      case Reachability::kOtherPrefix:
        if (rules_.subnet == PairSubnet::kRoutable && !has_flid(pair_.remote))
          add("pair.subnet",
              diagnose(diagnosis::NoFlid{name_, out_.subnet.local, out_.subnet.remote}),
              Action::kWarn);
        [[fallthrough]];
      case Reachability::kRouted:
        if (rules_.subnet == PairSubnet::kSame) add("pair.subnet", diagnose(ends()), Action::kDeny);
        return;
      case Reachability::kSame:
      case Reachability::kUnknown:
        return;
    }
  }

  // The GID of a port that a router knows has its LID there in its prefix (ncclIbExtractFlid,
  // v2.28.9-1 src/transport/net_ib.cc).
  static bool has_flid(const context::Gid& gid) { return gid[4] != 0 || gid[5] != 0; }

  // Ports of this node: who else is in the peer's subnet, whether each is a cable of its own, and
  // whether the local address has another length than all of theirs.
  void add_siblings(diagnosis::UnlikeSubnets& ends) const {
    constexpr unsigned kTwoAddresses = 30;
    const facts::IpAddress there = facts::gid_address(pair_.remote);
    unsigned cables = 0, others = 0;
    std::set<unsigned> lengths;
    for (const facts::Hca& hca : node_.hcas)
      for (const facts::Port& port : hca.ports) {
        const facts::Gid* gid = port.picked();
        if (port.choice != facts::PortChoice::kTaken || !port.ethernet() || !gid || !gid->address)
          continue;
        const bool cable = gid->address->address.family == facts::Family::kIpv4 &&
                           gid->address->length >= kTwoAddresses;
        ++(cable ? cables : others);
        if (&port == port_) continue;
        lengths.insert(gid->address->length);
        if (gid->address->contains(there))
          ends.beside = fmt::format("{}:{}", hca.name, port.number);
      }
    ends.cables = cables > 1 && others == 0;
    const facts::Gid* own = port_ ? port_->gid(pair_.gid_index) : nullptr;
    if (own == nullptr || !own->address || lengths.size() != 1) return;
    const facts::IpPrefix as_they_have{own->address->address, *lengths.begin()};
    if (as_they_have.length < own->address->length && as_they_have.contains(there))
      ends.meant_local = as_they_have.text();
  }

  void judge_traffic_class() {
    if (traffic_class_ < 0 || !port_ || !port_->ethernet() || pair_.traffic_class < 0 ||
        pair_.traffic_class == traffic_class_)
      return;
    add("roce.traffic_class",
        diagnose(diagnosis::OtherTrafficClass{name_, out_.subnet.remote, pair_.traffic_class,
                                              static_cast<int>(traffic_class_)}),
        Action::kDeny);
  }

  void judge_type() {
    const facts::Gid* gid = port_ ? port_->gid(pair_.gid_index) : nullptr;
    if (!gid || gid->type == GidType::kUnknown || pair_.remote_type == GidType::kUnknown ||
        gid->type == pair_.remote_type || out_.subnet.reach == Reachability::kDifferentFamily)
      return;
    add("pair.family",
        diagnose(diagnosis::UnlikeRoceVersions{name_, facts::gid_type_text(gid->type),
                                               facts::gid_type_text(pair_.remote_type)}),
        rules_.family);
  }

  // NCCL asks for the smaller MTU of the two ends, and keeps what it once lowered (v2.30.7-1
  // src/transport/net_ib/connect.cc). From 2.19 to 2.29 the receiver asks for the sender's.
  void judge_mtu() {
    if (port_ && pair_.path_mtu != 0 && port_->active_mtu != 0 &&
        pair_.path_mtu != port_->active_mtu)
      add("pair.mtu", diagnose(diagnosis::UnlikeMtu{name_, port_->active_mtu, pair_.path_mtu}),
          rules_.mtu);
  }

  const facts::Node& node_;
  const PairRules& rules_;
  const long traffic_class_;
  Mode mode_;
  const Pair& pair_;
  std::string name_;
  const facts::Port* port_;
  PairJudgement out_;
};

}  // namespace

PairJudgement judge_pair(const facts::Node& node, const Policy& policy, Mode mode,
                         const Pair& pair) {
  return PairJudge(node, policy, mode, pair).judge();
}

}  // namespace nnd::policy
