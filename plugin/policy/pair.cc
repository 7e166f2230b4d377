#include "policy/pair.h"

#include <fmt/format.h>

namespace nnd::policy {

namespace {

using facts::GidType;
using facts::Reach;

class PairJudge {
 public:
  PairJudge(const facts::Node& node, const Policy& policy, Mode mode, const Pair& pair)
      : node_(node),
        rules_(policy.pair),
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
    }
    judge_mtu();
    if (pair_.local_rail >= 0 && pair_.remote_rail >= 0 && pair_.local_rail != pair_.remote_rail)
      add("pair.rail", "SUB-RAIL",
          fmt::format("{} is on rail {}, the peer on rail {}.", name_, pair_.local_rail,
                      pair_.remote_rail),
          "NCCL_CROSS_NIC=0, and the same number of GPUs on every node.", rules_.rail);
    return std::move(out_);
  }

 private:
  void add(const char* rule, const char* cause, std::string fact, std::string remedy,
           Action action) {
    if (action == Action::kAllow) return;
    Verdict verdict;
    verdict.rule = rule;
    verdict.cause = cause;
    verdict.device = pair_.device;
    verdict.port = pair_.port;
    verdict.fact = std::move(fact);
    verdict.remedy = std::move(remedy);
    verdict.action = action;
    verdict.decision = decide(action, mode_);
    if (verdict.decision == Decision::kRefuse && out_.refused.empty())
      out_.refused = verdict.fact + ' ' + verdict.remedy;
    out_.verdicts.push_back(std::move(verdict));
  }

  void judge_link_layer() {
    if (!port_ || pair_.remote_link_layer == 0 || pair_.remote_link_layer == port_->link_layer)
      return;
    add("pair.link_layer", "DEV-MIXLL",
        fmt::format("{} is {}, the peer's port is {}.", name_,
                    facts::link_layer_text(port_->link_layer),
                    facts::link_layer_text(pair_.remote_link_layer)),
        "Select HCAs of one link layer with NCCL_IB_HCA.", rules_.link_layer);
  }

  void judge_subnet() {
    const facts::SubnetVerdict& subnet = out_.subnet;
    const std::string ends =
        fmt::format("local {} {}, remote {}", name_, subnet.local, subnet.remote);
    switch (subnet.reach) {
      case Reach::kDifferentFamily:
        return add(
            "pair.family", "GID-DIFF",
            fmt::format("{}: the address families differ, one end picked another kind of GID.",
                        ends),
            "Give both ends GIDs of one family, and set NCCL_IB_ADDR_FAMILY alike; leave "
            "NCCL_IB_GID_INDEX unset.",
            rules_.family);
      case Reach::kLocal:
        return add("pair.local", "SUB-INTRA",
                   fmt::format("{}: the peer's GID is one of this node's own.", ends),
                   "NCCL_NET_DISABLE_INTRA=1, if the NICs of a node can't reach each other.",
                   rules_.local);
      case Reach::kNoRoute:
        return add_subnet(
            fmt::format("{}: another subnet, and no route leaves by {}.", ends, subnet.netdev));
      case Reach::kRouted:
        if (rules_.subnet == PairSubnet::kSame)
          add_subnet(fmt::format("{}: another subnet, and the policy asks for the same.", ends));
        return;
      case Reach::kSame:
      case Reach::kUnknown:
        return;
    }
  }

  void add_subnet(std::string fact) {
    if (rules_.subnet == PairSubnet::kAny) return;
    add("pair.subnet", "SUB-RAIL", std::move(fact),
        "NCCL crosses rails: set NCCL_CROSS_NIC=0, use the same number of GPUs per node, exclude "
        "the odd HCA with NCCL_IB_HCA, or route between the rails.",
        Action::kDeny);
  }

  void judge_type() {
    const facts::Gid* gid = port_ ? port_->gid(pair_.gid_index) : nullptr;
    if (!gid || gid->type == GidType::kUnknown || pair_.remote_type == GidType::kUnknown ||
        gid->type == pair_.remote_type || out_.subnet.reach == Reach::kDifferentFamily)
      return;
    add("pair.family", "GID-DIFF",
        fmt::format("{} uses {}, the peer {}.", name_, facts::gid_type_text(gid->type),
                    facts::gid_type_text(pair_.remote_type)),
        "Leave NCCL_IB_GID_INDEX unset, and set NCCL_IB_ROCE_VERSION_NUM alike.", rules_.family);
  }

  // NCCL asks for the smaller MTU of the two ends, and keeps what it once lowered (v2.30.7-1
  // src/transport/net_ib/connect.cc). From 2.19 to 2.29 the receiver asks for the sender's.
  void judge_mtu() {
    if (!port_ || pair_.path_mtu == 0 || port_->active_mtu == 0 ||
        pair_.path_mtu == port_->active_mtu)
      return;
    add("pair.mtu", "MTU-DIFF",
        fmt::format(
            "{} has an MTU of {}, this connection of {}: the port of this peer{} has a {} "
            "one.",
            name_, port_->active_mtu, pair_.path_mtu,
            pair_.path_mtu > port_->active_mtu ? "" : ", or of one that NCCL met before it,",
            pair_.path_mtu > port_->active_mtu ? "larger" : "smaller"),
        "Give every HCA and switch the same MTU.", rules_.mtu);
  }

  const facts::Node& node_;
  const PairRules& rules_;
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
