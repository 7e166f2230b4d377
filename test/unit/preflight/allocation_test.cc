#include "cli/preflight/allocation.h"

#include <algorithm>
#include <functional>

#include "made.h"
#include "support/catch.h"

using namespace nnd::cli;
using namespace nnd::preflight_test;
using nlohmann::json;

namespace {

using Change = std::function<void(json&)>;

// `count` nodes, of which the third (of two: the second) has the change.
Allocation with(const Change& change, int count = 4) {
  std::vector<Node> nodes;
  for (int number = 1; number <= count; ++number) {
    json one = check(number);
    if (number == std::min(count, 3)) change(one);
    nodes.push_back(node_from(one));
  }
  return allocation_of(nodes, {});
}

void expect_left_out(const Allocation& got, const std::string& cause, const std::string& device,
                     const std::string& words) {
  INFO(got.findings.size());
  CHECK_FALSE(got.go());
  CHECK(got.leave_out == std::vector<std::string>{"node3"});
  REQUIRE_FALSE(got.findings.empty());
  const Finding& first = got.findings.front();
  CHECK(first.hosts == std::vector<std::string>{"node3"});
  CHECK(first.cause == cause);
  CHECK(first.device == device);
  CHECK(first.text == words);
  CHECK_FALSE(first.remedy.empty());
}

}  // namespace

TEST_CASE("nodes that are alike are a go, and have one environment") {
  for (const int count : {1, 2, 7}) {
    const auto got = with([](json&) {}, count);
    CHECK(got.go());
    CHECK(got.findings.empty());
    CHECK(got.environment.size() == 2);
  }
}

TEST_CASE("what differs at one node is named with both values") {
  expect_left_out(with([](json& node) { node["hcas"][1]["speed_mbps"] = 200000; }), "DEV-SLOW",
                  "mlx5_1",
                  "mlx5_1 runs at 200 Gbit/s on node3, and 400 Gbit/s on the other 3 nodes.");
  expect_left_out(with([](json& node) {
                    node["hcas"][0]["pick"]["gid"] = "::ffff:10.201.0.3";
                    node["hcas"][0]["pick"]["subnet"] = "10.201.0.0/24";
                  }),
                  "SUB-RAIL", "mlx5_0",
                  "mlx5_0 (ens0np0) of node3 has 10.201.0.3 in 10.201.0.0/24, those of the other 3 "
                  "nodes are in 10.200.0.0/24.");
  expect_left_out(with([](json& node) { node["system"]["gpus"] = 7; }), "", "",
                  "The GPU count is 7 on node3, and 8 on the other 3 nodes.");
}

TEST_CASE("what follows from a port that is down is not told beside it") {
  const auto got = with([](json& node) {
    auto& port = node["hcas"][1];
    port["state"] = "DOWN";
    port["verdict"] = "skipped";
    port["speed_mbps"] = 10000;
    port["pick"] = {{"index", nullptr}};
  });
  expect_left_out(got, "DEV-DOWN", "mlx5_1",
                  "mlx5_1 is DOWN on node3, and ACTIVE on the other 3 nodes.");
  CHECK(got.findings.size() == 1);
}

TEST_CASE("a setting that differs leaves no node out") {
  auto got = with([](json& node) { node["variables"]["NCCL_IB_TC"] = "41"; });
  CHECK_FALSE(got.go());
  CHECK(got.leave_out.empty());
  REQUIRE(got.findings.size() == 1);
  CHECK(got.findings[0].weight == Weight::kMend);
  CHECK(got.findings[0].cause == "ROCE-TC");
  CHECK(got.findings[0].text == "NCCL_IB_TC is 41 on node3, and 106 on the other 3 nodes.");
  got = with([](json& node) { node["variables"].erase("NCCL_IB_TC"); });
  CHECK(got.findings.at(0).text == "NCCL_IB_TC is not set on node3, and 106 on the other 3 nodes.");
}

TEST_CASE("other HCAs by a setting are the setting's") {
  const auto got = with([](json& node) {
    node["variables"]["NCCL_IB_HCA"] = "=mlx5_0";
    node["hcas"][1]["verdict"] = "skipped";
  });
  REQUIRE(got.findings.size() == 1);
  CHECK(got.findings[0].cause == "INC-NDEVS");
  CHECK(got.leave_out.empty());
}

TEST_CASE("another driver is a note") {
  const auto got = with([](json& node) { node["gpudirect"]["gpu_driver"] = "535.1"; });
  CHECK(got.go());
  REQUIRE(got.findings.size() == 1);
  CHECK(got.findings[0].weight == Weight::kNote);
  CHECK(got.findings[0].hosts == std::vector<std::string>{"node3"});
}

TEST_CASE("two nodes can't tell who is wrong, but where less is worse") {
  auto got = with([](json& node) { node["hcas"][0]["mtu"] = 1024; }, 2);
  CHECK_FALSE(got.go());
  CHECK(got.leave_out.empty());
  CHECK(got.findings.at(0).hosts == std::vector<std::string>{"node1", "node2"});
  got = with([](json& node) { node["hcas"][0]["speed_mbps"] = 100000; }, 2);
  CHECK(got.leave_out == std::vector<std::string>{"node2"});
}

TEST_CASE("a node that has no network at all is left out by its own words") {
  const auto got = with([](json& node) {
    node["result"]["broken"] = {"RDMA hardware is here, and NCCL can use none of it."};
  });
  expect_left_out(got, "", "", "node3: RDMA hardware is here, and NCCL can use none of it.");
}

TEST_CASE("lines that a shell would obey are not proposed") {
  json one = check(1);
  one["proposal"].push_back("export NCCL_IB_HCA=$(reboot)");
  CHECK(node_from(one).proposal.size() == 2);
}
