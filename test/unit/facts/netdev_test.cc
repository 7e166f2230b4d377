#include "facts/netdev.h"

#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using nnd::facts::test::Tree;

namespace {

constexpr const char* kJson = R"({
  "links": [
    {"ifindex": 3, "name": "ens1f1", "master": "bond0", "operstate": "up", "mtu": 9000},
    {"ifindex": 2, "name": "ens1f0", "master": "bond0", "operstate": "up", "mtu": 9000,
     "speed_mbps": 25000},
    {"ifindex": 5, "name": "bond0", "kind": "bond", "addrs": ["10.1.0.2/16", "fe80::5/64"]},
    {"ifindex": 6, "name": "bond0.7", "kind": "vlan", "parent": "bond0", "vlan_id": 7,
     "addrs": ["10.7.0.2/24"]}],
  "routes": [
    {"dst": "default", "via": "10.1.0.1", "dev": "bond0"},
    {"dst": "10.9.0.0/16", "via": "10.7.0.1", "dev": "bond0.7", "metric": 5},
    {"dst": "::/0", "dev": "bond0.7"}],
  "neighbours": [{"dst": "10.1.0.9", "dev": "bond0", "state": "failed"}]})";

}  // namespace

TEST_CASE("the machine's own interfaces are read") {
  const Network network = read_rtnetlink();
  INFO(network.error);
  REQUIRE(network.known);
  CHECK(network.routes_complete);
  const NetDev* loopback = network.find("lo");
  REQUIRE(loopback);
  CHECK(loopback->ifindex > 0);
  CHECK(network.find(loopback->ifindex) == loopback);
  CHECK(loopback->mtu >= 1500);
  for (const NetDev& dev : network.devs) CHECK_FALSE(dev.name.empty());
}

TEST_CASE("the file that stands for netlink") {
  const Network network = parse_netlink_json(kJson);
  REQUIRE(network.known);
  REQUIRE(network.devs.size() == 4);
  CHECK(network.devs.front().name == "ens1f0");
  const NetDev* bond = network.find("bond0");
  REQUIRE(bond);
  CHECK(bond->is_bond());
  CHECK(bond->default_route);
  CHECK(network.slaves(*bond).size() == 2);
  CHECK(network.find("bond0.7")->parent == "bond0");
  CHECK(network.find("bond0.7")->vlan_id == 7);
  CHECK(network.find("bond0.7")->default_route);
  CHECK(network.find(2)->speed_mbps == 25000);
  REQUIRE(network.routes.size() == 3);
  CHECK(network.routes[0].dst.address.family == Family::kIpv4);
  CHECK(network.routes[1].via.text() == "10.7.0.1");
  CHECK(network.routes[2].dst.address.family == Family::kIpv6);
  CHECK(network.neighbours.at(0).state == "failed");
}

TEST_CASE("an address is looked for where the GID is, then above it, then anywhere") {
  const Network network = parse_netlink_json(kJson);
  IpPrefix prefix;
  const NetDev* slave = network.find("ens1f0");
  CHECK(network.owner(*parse_address("10.1.0.2"), slave, &prefix)->name == "bond0");
  CHECK(prefix.length == 16);
  CHECK(network.owner(*parse_address("10.7.0.2"), slave, &prefix)->name == "bond0.7");
  CHECK(network.owner(*parse_address("10.7.0.3"), slave) == nullptr);
  CHECK(network.owner(*parse_address("fe80::5"), nullptr) == nullptr);
  CHECK(network.owner(*parse_address("fe80::5"), slave)->name == "bond0");
}

TEST_CASE("a broken file leaves out what is broken") {
  for (const char* text : {"", "[]", "{", "17", "null", "\"x\"", "{\"links\":[{]}"}) {
    const Network network = parse_netlink_json(text);
    CHECK_FALSE(network.known);
    CHECK_FALSE(network.error.empty());
  }
  const Network network = parse_netlink_json(R"({
    "links": [1, {"name": "a"}, {"ifindex": -1, "name": "b"}, {"ifindex": 99999999999, "name": "c"},
              {"ifindex": 1, "name": 5}, {"ifindex": 4, "name": "d", "addrs": [1, "x", "10.0.0.1/99",
               "10.0.0.2/8"], "mtu": "big"}, {"ifindex": 4, "name": "twice"}],
    "routes": [{"dst": "default"}, {"dst": "nonsense", "dev": "d"}, {"dst": "default", "dev": "none"},
               {"dst": "10.0.0.0/8", "dev": "d", "via": "?"}],
    "neighbours": 3})");
  CHECK(network.known);
  REQUIRE(network.devs.size() == 1);
  CHECK(network.devs[0].name == "d");
  CHECK(network.devs[0].mtu == 0);
  REQUIRE(network.devs[0].addresses.size() == 1);
  REQUIRE(network.routes.size() == 1);
  CHECK(network.routes[0].via.family == Family::kNone);
}

TEST_CASE("another sysfs root means another network") {
  Tree tree;
  CHECK_FALSE(read_network(tree.root()).known);
  tree.write("nnd-netlink.json", kJson);
  CHECK(read_network(tree.root()).find("bond0"));
}
