#include "policy/pair.h"

#include "made_node.h"
#include "support/catch.h"

using namespace nnd::policy;
using namespace nnd::policy::test;
namespace facts = nnd::facts;

namespace {

// Two rails and an InfiniBand port; a route from the first rail to 10.2.0.0/16.
facts::Node make_node() {
  MadeNode made = rails(2);
  made.port("mlx5_0").gids.push_back(make_gid(5, "fd00:1::2/64", 2));
  made.add_ib("mlx5_8");
  made.add_rail("mlx5_9", "10.2.0.2/24");
  facts::Route route;
  route.dst = facts::parse_prefix("10.2.0.0/16").value();
  route.via = facts::parse_address("10.200.0.1").value();
  route.ifindex = 2;
  made.node.network.routes.push_back(route);
  return made.node;
}

struct Row {
  const char* what;
  const char* verdict;  // empty: nothing may be said
  bool refused;         // in enforce mode
  Pair pair;
};

Pair make_pair(const char* device, int index, const char* remote) {
  Pair pair;
  pair.device = device;
  pair.gid_index = index;
  pair.remote = raw_gid(remote);
  pair.path_mtu = 4096;
  return pair;
}

template <typename T>
Pair with(Pair pair, T Pair::*member, T value) {
  pair.*member = value;
  return pair;
}

}  // namespace

TEST_CASE("pairs, good and bad") {
  const Pair good = make_pair("mlx5_0", 3, "10.200.0.9");
  const Row rows[] = {
      {"same subnet", "", false, good},
      {"another rail", "pair.subnet SUB-RAIL", true, make_pair("mlx5_0", 3, "10.200.4.9")},
      {"a routed subnet", "", false, make_pair("mlx5_0", 3, "10.2.4.9")},
      {"routed, but by another interface", "pair.subnet SUB-RAIL", true,
       make_pair("mlx5_1", 3, "10.2.4.9")},
      {"another family", "pair.family GID-DIFF", true, make_pair("mlx5_0", 3, "fd00:1::9")},
      {"the same family, IPv6", "", false, make_pair("mlx5_0", 5, "fd00:1::9")},
      {"a link-local peer of an IPv4 end", "pair.family GID-DIFF", true,
       make_pair("mlx5_0", 3, "fe80::9")},
      {"another HCA of this node, in another subnet", "pair.subnet SUB-INTRA", true,
       make_pair("mlx5_0", 3, "10.200.1.2")},
      {"another HCA of this node with a route to it", "", false,
       make_pair("mlx5_0", 3, "10.2.0.2")},
      {"its own port by another of its addresses", "", false, make_pair("mlx5_0", 5, "fd00:1::2")},
      {"a GID index that is not known", "", false, make_pair("mlx5_0", 9, "10.200.4.9")},
      {"a device that is not known", "", false, make_pair("rxe0", 3, "10.200.4.9")},
      {"RoCE v1 against v2", "pair.family GID-DIFF", true,
       with(good, &Pair::remote_type, facts::GidType::kRoceV1)},
      {"RoCE v2 against v2", "", false, with(good, &Pair::remote_type, facts::GidType::kRoceV2)},
      {"an InfiniBand peer", "pair.link_layer DEV-MIXLL", true,
       with(good, &Pair::remote_link_layer, 1)},
      {"a RoCE peer", "", false, with(good, &Pair::remote_link_layer, 2)},
      {"a smaller MTU there", "pair.mtu MTU-DIFF", false, with(good, &Pair::path_mtu, 1024U)},
      {"an MTU that is not known", "", false, with(good, &Pair::path_mtu, 0U)},
      {"InfiniBand, same prefix", "", false, make_pair("mlx5_8", 0, "fe80::1")},
      {"InfiniBand by LID", "", false, with(make_pair("mlx5_8", 0, "::"), &Pair::gid_index, -1)},
      {"other rails, which the built-in rules allow", "", false,
       with(with(good, &Pair::local_rail, 1), &Pair::remote_rail, 2)},
  };
  const facts::Node node = make_node();
  for (const Row& row : rows) {
    INFO(row.what);
    const auto expected =
        *row.verdict ? std::vector<std::string>{row.verdict} : std::vector<std::string>{};
    const PairJudgement observed = judge_pair(node, {}, Mode::kObserve, row.pair);
    CHECK(rules_of(observed.verdicts) == expected);
    CHECK_FALSE(observed.refused.has_value());
    const PairJudgement warned = judge_pair(node, {}, Mode::kWarn, row.pair);
    CHECK(rules_of(warned.verdicts) == expected);
    CHECK_FALSE(warned.refused.has_value());
    for (const Verdict& verdict : warned.verdicts) CHECK(verdict.decision == Decision::kWarn);
    const PairJudgement enforced = judge_pair(node, {}, Mode::kEnforce, row.pair);
    CHECK(rules_of(enforced.verdicts) == expected);
    CHECK(enforced.refused.has_value() == row.refused);
  }
}

TEST_CASE("what a file can ask of pairs") {
  const facts::Node node = make_node();
  Policy policy;
  const auto rules = [&](const Pair& pair) {
    return rules_of(judge_pair(node, policy, Mode::kEnforce, pair).verdicts);
  };
  const Pair routed = make_pair("mlx5_0", 3, "10.2.4.9");
  const Pair unreachable = make_pair("mlx5_0", 3, "10.200.4.9");
  policy.pair.subnet = PairSubnet::kSame;
  CHECK(rules(routed) == std::vector<std::string>{"pair.subnet SUB-RAIL"});
  CHECK(rules(make_pair("mlx5_0", 3, "10.200.0.9")).empty());
  policy.pair.subnet = PairSubnet::kAny;
  CHECK(rules(unreachable).empty());
  policy.pair.local = Action::kWarn;
  CHECK(rules(make_pair("mlx5_0", 3, "10.200.1.2")) ==
        std::vector<std::string>{"pair.local SUB-INTRA"});
  CHECK(rules(make_pair("mlx5_0", 3, "10.200.1.9")).empty());
  policy.pair.subnet = PairSubnet::kSame;
  CHECK(rules(make_pair("mlx5_8", 0, "fec0::1")) ==
        std::vector<std::string>{"pair.subnet SUB-RAIL"});
  CHECK(rules(make_pair("mlx5_8", 0, "fe80::1")).empty());
  policy.pair.subnet = PairSubnet::kAny;
  policy.pair.rail = Action::kDeny;
  Pair rails_differ = make_pair("mlx5_0", 3, "10.200.0.9");
  rails_differ.local_rail = 1;
  CHECK(rules(rails_differ).empty());
  rails_differ.remote_rail = 2;
  CHECK(rules(rails_differ) == std::vector<std::string>{"pair.rail SUB-RAIL"});
  rails_differ.remote_rail = 1;
  CHECK(rules(rails_differ).empty());
}

TEST_CASE("the remedy of ends in two subnets follows from what is known of this node") {
  facts::Node node = make_node();
  const auto remedy = [&node](const Pair& pair) {
    return judge_pair(node, {}, Mode::kWarn, pair).verdicts.at(0).diagnosis.remedy;
  };
  // The peer's address is in the subnet of another HCA here: two things are open.
  Pair crossed = make_pair("mlx5_0", 3, "10.200.1.9");
  CHECK(remedy(crossed).find("`nccl-net-diag check` on both") != std::string::npos);
  // One is known: a rail of this node is missing, and the list leaves it out everywhere.
  const nnd::diagnosis::Diagnosis slow{nnd::diagnosis::Cause::kDevSlow, "mlx5_1:1 is slow.",
                                       "Mend it. NCCL_IB_HCA==mlx5_0"};
  crossed.rail_short = &slow;
  CHECK(remedy(crossed) == "mlx5_1:1 is slow. Mend it. NCCL_IB_HCA==mlx5_0");
  // No HCA here is in the peer's subnet: an address or a mask.
  CHECK(remedy(make_pair("mlx5_0", 3, "10.201.0.9")).starts_with("Compare ens2 (10.200.0.2/24)"));
  // With the length of the others the peer would be near.
  facts::Port& port = node.hcas[0].ports[0];
  port.gids[0].address = facts::parse_prefix("10.200.0.2/28").value();
  const auto narrow = judge_pair(node, {}, Mode::kWarn, make_pair("mlx5_0", 3, "10.200.0.99"));
  CHECK(narrow.verdicts.at(0).diagnosis.remedy ==
        "Correct the mask: ens2 should have 10.200.0.2/24, as long as this node's other HCAs have "
        "it.");
  // Within a node NCCL can do without the network.
  CHECK(remedy(make_pair("mlx5_0", 3, "10.200.1.2")).find("NCCL_NET_DISABLE_INTRA=1") !=
        std::string::npos);
  node.system.environment = {{"NCCL_P2P_DISABLE", "0"}, {"NCCL_SHM_DISABLE", "1"}};
  CHECK(remedy(make_pair("mlx5_0", 3, "10.200.1.2")).starts_with("Unset NCCL_SHM_DISABLE: "));
}

TEST_CASE("the sentence of a refused pair") {
  const PairJudgement judgement =
      judge_pair(make_node(), {}, Mode::kEnforce, make_pair("mlx5_0", 3, "10.200.4.9"));
  REQUIRE(judgement.refused == 0U);
  const nnd::diagnosis::Diagnosis& broken = judgement.verdicts.at(0).diagnosis;
  CHECK(broken.sentence ==
        "local mlx5_0:1 10.200.0.2/24, remote 10.200.4.9: another subnet, and no route leaves by "
        "ens2.");
  CHECK(broken.remedy.starts_with(
      "Compare ens2 (10.200.0.2/24) with the interface of the HCA of the same name on the peer "
      "(10.200.4.9)"));
  CHECK(judgement.subnet.reach == facts::Reachability::kNoRoute);
}
