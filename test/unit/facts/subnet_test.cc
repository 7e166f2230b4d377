#include "facts/subnet.h"

#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using namespace nnd::facts::test;

namespace {

constexpr const char* kNetwork = R"({
  "links": [
    {"ifindex": 1, "name": "ens1", "addrs": ["10.0.1.2/24", "fd00:1::2/64"]},
    {"ifindex": 2, "name": "ens2", "addrs": ["10.0.2.2/24"]},
    {"ifindex": 3, "name": "eth0", "addrs": ["192.168.0.2/24"]},
    {"ifindex": 4, "name": "p2p", "addrs": ["10.5.0.0/31"]}],
  "routes": [
    {"dst": "default", "via": "192.168.0.1", "dev": "eth0"},
    {"dst": "10.2.0.0/16", "via": "10.0.1.1", "dev": "ens1"},
    {"dst": "10.2.9.0/24", "dev": "ens1"},
    {"dst": "10.3.0.0/16", "via": "10.0.1.9", "dev": "ens1", "metric": 200},
    {"dst": "10.3.0.0/16", "via": "10.0.1.8", "dev": "ens1", "metric": 100}],
  "neighbours": [
    {"dst": "10.0.1.9", "dev": "ens1", "state": "failed"},
    {"dst": "10.0.1.1", "dev": "ens1", "state": "reachable"},
    {"dst": "10.0.1.7", "dev": "ens2", "state": "stale"}]})";

Node make_node(Tree& tree, const char* network = kNetwork) {
  tree.write("nnd-netlink.json", network);
  return collect({device("mlx5_1", {roce_port({verbs_gid(0, "fe80::1", GidType::kRoceV2, 1),
                                               verbs_gid(3, "10.0.1.2", GidType::kRoceV2, 1),
                                               verbs_gid(4, "fd00:1::2", GidType::kRoceV2, 1),
                                               verbs_gid(5, "10.77.0.1", GidType::kRoceV2, 1)})}),
                  device("mlx5_2", {roce_port({verbs_gid(3, "10.0.2.2", GidType::kRoceV2, 2)})}),
                  device("mlx5_3", {roce_port({verbs_gid(1, "10.5.0.0", GidType::kRoceV2, 4)})}),
                  device("mlx5_4", {ib_port()})},
                 sources(tree));
}

}  // namespace

TEST_CASE("how a remote GID relates to ours") {
  struct Row {
    const char* device;
    int index;
    const char* remote;
    Reachability reach;
    const char* gateway;
  };
  const auto row = GENERATE(
      Row{"mlx5_1", 3, "10.0.1.9", Reachability::kSame, ""},
      Row{"mlx5_1", 3, "10.0.4.9", Reachability::kNoRoute, ""},
      // the default route leaves by eth0, which is not the GID's interface
      Row{"mlx5_1", 3, "10.0.2.9", Reachability::kNoRoute, ""},
      Row{"mlx5_1", 3, "8.8.8.8", Reachability::kNoRoute, ""},
      Row{"mlx5_1", 3, "10.2.1.1", Reachability::kRouted, "10.0.1.1"},
      Row{"mlx5_1", 3, "10.2.9.1", Reachability::kRouted, ""},
      Row{"mlx5_1", 3, "10.3.0.1", Reachability::kRouted, "10.0.1.8"},
      Row{"mlx5_2", 3, "10.2.1.1", Reachability::kNoRoute, ""},
      Row{"mlx5_1", 3, "fd00:1::9", Reachability::kDifferentFamily, ""},
      Row{"mlx5_1", 4, "fd00:1::9", Reachability::kSame, ""},
      Row{"mlx5_1", 4, "fd00:2::9", Reachability::kNoRoute, ""},
      Row{"mlx5_1", 4, "10.0.1.9", Reachability::kDifferentFamily, ""},
      Row{"mlx5_1", 0, "fe80::9", Reachability::kUnknown, ""},
      Row{"mlx5_1", 4, "fe80::9", Reachability::kUnknown, ""},
      Row{"mlx5_1", 3, "10.0.2.2", Reachability::kNoRoute, ""},  // this node's own
      Row{"mlx5_2", 3, "10.0.1.2", Reachability::kNoRoute, ""},
      Row{"mlx5_1", 5, "10.77.0.9", Reachability::kUnknown, ""},  // no interface has that address
      Row{"mlx5_1", 9, "10.0.1.9", Reachability::kUnknown, ""},
      Row{"none", 3, "10.0.1.9", Reachability::kUnknown, ""},
      Row{"mlx5_3", 1, "10.5.0.1", Reachability::kSame, ""},
      Row{"mlx5_3", 1, "10.5.0.2", Reachability::kNoRoute, ""},
      Row{"mlx5_4", 0, "fe80::a288:c203:9:9", Reachability::kSame, ""},
      Row{"mlx5_4", 0, "fec0::1", Reachability::kOtherPrefix, ""});
  Tree tree;
  const Node node = make_node(tree);
  INFO(row.device << "[" << row.index << "] " << row.remote);
  const SubnetVerdict verdict = compare(node, row.device, 1, row.index, gid(row.remote));
  INFO(verdict.why);
  CHECK(std::string(reach_text(verdict.reach)) == reach_text(row.reach));
  CHECK(verdict.gateway == row.gateway);
  CHECK_FALSE(verdict.why.empty());
}

TEST_CASE("the sentence names both sides") {
  Tree tree;
  const SubnetVerdict verdict = compare(make_node(tree), "mlx5_1", 1, 3, gid("10.0.4.9"));
  CHECK(verdict.local == "10.0.1.2/24");
  CHECK(verdict.remote == "10.0.4.9");
  CHECK(verdict.netdev == "ens1");
  CHECK(verdict.why == "10.0.4.9 is outside 10.0.1.0/24 and no route leaves by ens1");
}

TEST_CASE("another HCA of this node is named, and its own port is not another") {
  Tree tree;
  const Node node = make_node(tree);
  const SubnetVerdict verdict = compare(node, "mlx5_1", 1, 3, gid("10.0.2.2"));
  REQUIRE(verdict.own_hca);
  CHECK(verdict.own_hca->name == "mlx5_2");
  CHECK(verdict.own_port->number == 1);
  CHECK(verdict.why ==
        "10.0.2.2 is outside 10.0.1.0/24 and no route leaves by ens1; that is mlx5_2:1 of this "
        "node");
  CHECK_FALSE(compare(node, "mlx5_1", 1, 3, gid("fd00:1::2")).own_hca);
  CHECK_FALSE(compare(node, "mlx5_1", 1, 3, gid("10.0.4.9")).own_hca);
}

TEST_CASE("the entry of the next hop among the neighbours") {
  Tree tree;
  const Node node = make_node(tree);
  const auto neighbour = [&node](const char* remote) {
    return compare(node, "mlx5_1", 1, 3, gid(remote)).neighbour;
  };
  CHECK(neighbour("10.0.1.9") == "failed");
  CHECK(neighbour("10.2.1.1") == "reachable");  // the gateway's
  CHECK(neighbour("10.0.1.7").empty());         // by another interface
  CHECK(neighbour("10.0.1.8").empty());
}

TEST_CASE("what is not known is not judged") {
  Tree tree;
  CHECK(compare(make_node(tree, "broken"), "mlx5_1", 1, 3, gid("10.0.4.9")).reach ==
        Reachability::kUnknown);
  Node node = make_node(tree);
  node.network.routes_complete = false;
  CHECK(compare(node, "mlx5_1", 1, 3, gid("10.0.4.9")).reach == Reachability::kUnknown);
  CHECK(compare(node, "mlx5_1", 1, 3, gid("10.0.1.9")).reach == Reachability::kSame);
  CHECK(compare(node, "mlx5_1", 1, 3, nnd::context::Gid{}).reach == Reachability::kUnknown);
  node = make_node(tree);
  Route other_hop;
  other_hop.dst = *parse_prefix("10.0.4.0/24");
  node.network.routes.push_back(other_hop);
  CHECK(compare(node, "mlx5_1", 1, 3, gid("10.0.4.9")).reach == Reachability::kUnknown);
}
