// Real NCCL jobs with the shim over NCCL's own IB transport on the emulated fabric: the data is
// right, and every rank has logged what it did. Two ranks are in onoff_test.cc.
#include <regex>
#include <set>
#include <string>

#include "job/fabric.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::add_all_collectives;
using nnd::test::FabricJob;
using nnd::test::failures;
using Kind = Action::Kind;

namespace {

std::set<std::string> used_hcas(const FabricJob& job) {
  std::set<std::string> names;
  for (int rank = 0; rank < job.spec.ranks(); ++rank)
    for (const auto& event : job.events(rank, "conn.open"))
      names.insert(event.at("dev").at("name"));
  return names;
}

}  // namespace

TEST_CASE("every collective on four ranks", "[diag]") {
  FabricJob job(2);
  add_all_collectives(job.spec, {100008});
  CHECK(failures(job.run()) == "");
  job.check_carried();
  for (const auto& hca : used_hcas(job)) CHECK((hca == "mlx5_0" || hca == "mlx5_1"));
  const auto facts = job.events(0, "node.facts");
  REQUIRE(facts.size() == 1);
  INFO(facts[0].dump());
  const auto& told = facts[0].at("cuda");  // libcuda is NCCL's, and was asked
  CHECK(told.at("version") == 13000);
  CHECK(told.at("gpudirect_rdma") == true);
  CHECK_FALSE(told.contains("dmabuf"));  // the scenario doesn't say
  CHECK(told.at("pci").size() == told.at("gpus"));
}

TEST_CASE("a GPU far from the HCA goes through its neighbour's (PXN)", "[diag]") {
  FabricJob job(2, 2, R"([[host]]
count = 2
name = "node{h}"
nvswitch = true
[[host.hca]]
address = "10.200.0.{h+1}/24"
pci = "0000:13:00.0"
parent = "0000:10:01.0/0000:11:00.0/0000:12:00.0"
[[host.gpu]]
count = 2
pci = "0000:{i+1}4:00.0"
parent = "0000:{i+1}0:01.0/0000:{i+1}1:00.0/0000:{i+1}2:01.0"
[host.sysfs]
"kernel/mm/memory_peers/nv_mem/version" = "1.0"
)");
  add_all_collectives(job.spec, {100008});
  const JobResult result = job.run();
  CHECK(failures(result) == "");
  // The number in brackets is the rank whose proxy thread does it.
  CHECK(std::regex_search(result.ranks.at(1).output, std::regex(R"(via NET/IB/\d+\(0\)/)")));
  CHECK_FALSE(job.events(0, "conn.ready").empty());
  CHECK(job.events(1, "conn.open").empty());
}

TEST_CASE("every protocol by ring and tree", "[diag]") {
  for (const char* algorithm : {"Ring", "Tree"})
    for (const char* protocol : {"Simple", "LL", "LL128"}) {
      INFO(algorithm << " " << protocol);
      FabricJob job(2);
      job.spec.environment["NCCL_ALGO"] = algorithm;
      job.spec.environment["NCCL_PROTO"] = protocol;
      job.spec.actions = {{.kind = Kind::kCreate},
                          {.kind = Kind::kCollective, .bytes = 40, .iterations = 3},
                          {.kind = Kind::kCollective, .bytes = 1000004},
                          {.kind = Kind::kDestroy}};
      CHECK(failures(job.run()) == "");
      job.check_carried();
    }
}

TEST_CASE("every collective on sixteen ranks", "[many]") {
  FabricJob job(8);
  nnd::test::avoid_lost_segments(job.spec);
  job.spec.actions = {{.kind = Kind::kCreate}};
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
        Collective::kBroadcast, Collective::kReduce, Collective::kSendRecv})
    job.spec.actions.push_back(
        {.kind = Kind::kCollective, .collective = collective, .bytes = 100008});
  job.spec.actions.push_back({.kind = Kind::kDestroy});
  CHECK(failures(job.run()) == "");
  for (int rank = 0; rank < 16; ++rank) CHECK_FALSE(job.events(rank, "plugin.load").empty());
  CHECK(used_hcas(job).size() > 1);  // NCCL chooses how many rails its rings take
}

// As on a real node of eight GPUs and eight HCAs with GPUDirect: NCCL takes the HCA on the GPU's
// own PCI switch. Without NVLink, between the nodes' rings, that needs NCCL_CROSS_NIC; the trees of
// 2.18 go by a neighbour's.
TEST_CASE("the data of rank i of sixteen goes over HCA i", "[many]") {
  FabricJob job(8);
  nnd::test::avoid_lost_segments(job.spec);
  job.spec.environment["NCCL_CROSS_NIC"] = "1";
  job.spec.environment["NCCL_ALGO"] = "Ring";
  constexpr std::size_t kBytes = 100008;
  job.spec.actions = {
      {.kind = Kind::kCreate},
      {.kind = Kind::kCollective, .bytes = kBytes},
      {.kind = Kind::kCollective, .collective = Collective::kSendRecv, .bytes = kBytes},
      {.kind = Kind::kSplit, .made = 1, .parts = 8},  // a communicator of each rail
      {.kind = Kind::kCollective, .comm = 1, .bytes = kBytes},
      {.kind = Kind::kDestroy, .comm = 1},
      {.kind = Kind::kDestroy}};
  CHECK(failures(job.run()) == "");
  for (int rank = 0; rank < 16; ++rank) {
    INFO("rank " << rank);
    int used = 0;
    for (const auto& event : job.events(rank, "conn.close")) {
      if (event.at("bytes") == 0) continue;  // 2.18 connects trees too
      CHECK(event.at("dev").at("name") == "mlx5_" + std::to_string(rank % 8));
      ++used;
    }
    CHECK(used >= 2);
  }
}

TEST_CASE("the link of the example link-drop goes down and comes back in a job that goes on",
          "[link-drop]") {
  FabricJob job(1, 2, std::filesystem::path(NND_EXAMPLE_SCENARIOS) / "link-drop.toml");
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective, .bytes = std::size_t{4} << 20, .iterations = 4},
                      {.kind = Kind::kDestroy}};
  CHECK(failures(job.run()) == "");
  const auto port_events = [&job](int rank) {
    std::vector<std::string> names;
    for (const auto& event : job.events(rank, "port.event")) {
      CHECK(event.at("dev").at("name") == "mlx5_0");
      names.push_back(event.at("event"));
    }
    return names;
  };
  CHECK(port_events(0) == std::vector<std::string>{"PORT_ERR", "PORT_ACTIVE"});
  CHECK(port_events(1) == std::vector<std::string>{"GID_CHANGE"});
}

TEST_CASE("sixty-four ranks on eight nodes", "[.][very-many]") {
  FabricJob job(8, 8);
  job.spec.environment["NCCL_MAX_NCHANNELS"] = "2";
  job.spec.environment["NCCL_DEBUG"] = "WARN";
  job.spec.deadline_sec = 1700;
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective, .bytes = 100000},
                      {.kind = Kind::kDestroy}};
  CHECK(failures(job.run()) == "");
  int connected = 0;
  for (int rank = 0; rank < 64; ++rank) {
    CHECK_FALSE(job.events(rank, "plugin.load").empty());
    connected += job.events(rank, "conn.ready").empty() ? 0 : 1;
  }
  CHECK(connected >= 8);  // each node's way in and out
}
