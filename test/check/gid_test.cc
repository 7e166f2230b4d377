// The GID that check names is the one that NCCL then uses: against the first move of a QP to RTR,
// over a real libnccl of each generation that picks in its own way.
#include <fstream>

#include "check/run_tool.h"
#include "integration/harness.h"

using namespace nnd::integration;
using nnd::check_test::Environment;
using nnd::check_test::run_tool;

namespace {

struct Table {
  std::string what;
  std::string hca;  // its keys, on both hosts
  Environment environment = {};
};

std::string gid(int index, const std::string& address, const std::string& type) {
  return "[[host.hca.gids]]\nindex = " + std::to_string(index) + "\ngid = \"" + address +
         "\"\ntype = \"" + type + "\"\n";
}

const std::vector<Table>& tables() {
  static const std::string kBoth = "address = [\"10.1.0.{h+1}/24\", \"10.2.0.{h+1}/24\"]\n";
  static const std::string kIpv6 = "address = \"fd00:1::{h+1}/64\"\n";
  static const std::vector<Table> all = {
      {"one IPv4 address", "address = \"10.1.0.{h+1}/24\"\n"},
      {"a forced index, RoCE v1", kBoth, {{"NCCL_IB_GID_INDEX", "2"}}},
      {"a forced index, RoCE v2", kBoth, {{"NCCL_IB_GID_INDEX", "5"}}},
      {"an address range", kBoth, {{"NCCL_IB_ADDR_RANGE", "10.2.0.0/16"}}},
      {"an address range that nothing is in", kBoth, {{"NCCL_IB_ADDR_RANGE", "10.9.0.0/16"}}},
      {"RoCE v1 is wanted", kBoth, {{"NCCL_IB_ROCE_VERSION_NUM", "1"}}},
      {"RoCE v1 only",
       gid(0, "fe80::{h+1}", "v1") + gid(1, "10.1.0.{h+1}", "v1") + gid(2, "10.2.0.{h+1}", "v1")},
      {"RoCE v2 first", gid(0, "10.1.0.{h+1}", "v2") + gid(1, "10.1.0.{h+1}", "v1")},
      {"an empty slot first", gid(1, "10.1.0.{h+1}", "v1") + gid(2, "10.1.0.{h+1}", "v2")},
      {"IPv6 only", kIpv6},
      {"IPv6 only, and NCCL is told", kIpv6, {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}},
      {"both families, IPv6 wanted",
       "address = [\"10.1.0.{h+1}/24\", \"fd00:1::{h+1}/64\"]\n",
       {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}},
      {"link-local only", ""},
      {"link-local only, IPv6 wanted", "", {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}},
      {"software RDMA, RoCE v2 only", "address = \"10.1.0.{h+1}/24\"\nlook = \"rxe\"\n"},
      {"InfiniBand", "link_layer = \"infiniband\"\n"},
  };
  return all;
}

// Without RTR there is no use of a GID: which it was is in the first event of one.
json used_gid(const Table& table, const std::string& scenario) {
  Environment environment = table.environment;
  environment.insert({{"NCCL_IB_MQP_RETRY_CNT", "1"},
                      {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"},
                      {"NCCL_NET_DIAG_MODE", "observe"}});
  EmulatedJob job(scenario, 2, environment);
  job->setup(shim());
  nnd::driver::Link link;
  link.to = 1;
  job->try_open(link, 1500);
  job->all({{"op", "exit"}});
  for (int rank = 0; rank < 2; ++rank) CHECK(job->rank(rank).wait_exit() == 0);
  const auto moves = select(of_kind(job.log(1), "qp.transition"),
                            [](const json& event) { return event["qp"]["to"] == "RTR"; });
  return moves.empty() ? json() : moves.front()["dev"];
}

}  // namespace

TEST_CASE("the GID that check names is the one that NCCL uses", "[gid]") {
  const ScratchDir scratch;
  for (const Table& table : tables()) {
    INFO(table.what << ", NCCL " << nccl_version());
    // 2.20 to 2.23 crash on software RDMA, which has no path in sysfs.
    if (table.hca.find("rxe") != std::string::npos && nccl_version().starts_with("2.21")) continue;
    const std::string scenario =
        "resolve_timeout_ms = 20\n[[host]]\ncount = 2\nname = \"node{h}\"\n[[host.hca]]\n" +
        table.hca;
    const json used = used_gid(table, scenario);
    const auto file = scratch.path() / "scenario.toml";
    std::ofstream(file) << scenario;
    const json result = run_tool({"--json", "--nccl", nccl_version(), "--scenario", file.string(),
                                  "--host", "node1"},
                                 table.environment)
                            .json();
    REQUIRE(result["hcas"].size() == 1);
    const json& pick = result["hcas"][0]["pick"];
    INFO(pick.dump() << "\n" << used.dump());
    CHECK_FALSE(pick["why"].get<std::string>().empty());
    REQUIRE_FALSE(used.is_null());
    if (!used.contains("gid_index")) {  // InfiniBand, by LID alone
      CHECK(result["hcas"][0]["link_layer"] == "InfiniBand");
      continue;
    }
    CHECK(pick["index"] == used["gid_index"]);
    CHECK(pick["gid"] == used.value("gid", json()));  // null: an empty slot
  }
}
