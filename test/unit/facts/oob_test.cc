#include "facts/oob.h"

#include "support/catch.h"

using namespace nnd::facts;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

// In the order of ifindex: lo, docker0, a port that is down, eth0 with both families, eth1.
Network network(const std::string& more = "") {
  return parse_netlink_json(R"({"links": [
    {"ifindex": 1, "name": "lo", "operstate": "unknown", "addrs": ["127.0.0.1/8", "::1/128"]},
    {"ifindex": 2, "name": "docker0", "operstate": "up", "addrs": ["172.17.0.1/16"]},
    {"ifindex": 3, "name": "eno1", "operstate": "down", "addrs": ["10.9.0.2/16"]},
    {"ifindex": 4, "name": "eth0", "operstate": "up", "addrs": ["fd00::2/64", "10.1.0.2/16"]},
    {"ifindex": 5, "name": "eth1", "operstate": "up", "addrs": ["10.2.0.2/16"]})" +
                            more + "]}");
}

OobPick pick(Values values, const std::string& more = "") {
  return pick_oob(network(more), Environment(std::move(values)));
}

}  // namespace

TEST_CASE("the interface that NCCL's ranks meet by") {
  CHECK(pick({}).netdev == "eth0");
  CHECK(pick({}).address == "10.1.0.2");
  CHECK(pick({{"NCCL_SOCKET_FAMILY", "AF_INET6"}}).address == "fd00::2");
  CHECK(pick({{"NCCL_SOCKET_IFNAME", "eth1"}}).netdev == "eth1");
  CHECK(pick({{"NCCL_SOCKET_IFNAME", "^docker,lo,eth0"}}).netdev == "eth1");
  CHECK(pick({{"NCCL_SOCKET_IFNAME", "=eth"}}).netdev.empty());
  CHECK(pick({{"NCCL_SOCKET_IFNAME", "eno1"}}).netdev.empty());  // down
  CHECK(pick({{"NCCL_SOCKET_IFNAME", "docker"}}).netdev == "docker0");
  CHECK(pick({{"NCCL_COMM_ID", "10.2.0.9:4711"}}).netdev == "eth1");
  CHECK(pick({{"NCCL_COMM_ID", "[fd00::9]:4711"}}).address == "fd00::2");
  CHECK(pick({{"NCCL_COMM_ID", "head-node:4711"}}).netdev == "eth0");
  const char* ipoib =
      R"(,{"ifindex": 9, "name": "ib0", "operstate": "up", "addrs": ["10.8.0.2/16"]})";
  CHECK(pick({}, ipoib).netdev == "ib0");
  CHECK(pick({{"NCCL_COMM_ID", "10.2.0.9:4711"}}, ipoib).netdev == "ib0");
}

TEST_CASE("where nothing else is there NCCL takes what it leaves out at first") {
  const auto only = [](const char* links) {
    return pick_oob(parse_netlink_json(links), Environment());
  };
  CHECK(only(R"({"links": [{"ifindex": 1, "name": "lo", "addrs": ["127.0.0.1/8"]},
                           {"ifindex": 2, "name": "docker0", "addrs": ["172.17.0.1/16"]}]})")
            .netdev == "docker0");
  CHECK(only(R"({"links": [{"ifindex": 1, "name": "lo", "addrs": ["::1/128"]}]})").netdev.empty());
  CHECK(only("{}").why == "no interface has an address");
  CHECK(pick_oob(Network(), Environment()).why == "the interfaces are not known");
}
