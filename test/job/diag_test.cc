// Real NCCL jobs with the shim over NCCL's own IB transport on the emulated fabric.
#include <set>
#include <string>

#include "job/fabric.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::FabricJob;
using nnd::test::failures;
using Kind = Action::Kind;

namespace {

void add_traffic(JobSpec& spec) {
  spec.actions = {{.kind = Kind::kCreate},
                  {.kind = Kind::kCollective, .bytes = 400000, .iterations = 2},
                  {.kind = Kind::kCollective, .collective = Collective::kSendRecv, .bytes = 100000},
                  {.kind = Kind::kDestroy}};
}

// The names of the HCAs that the rank's connections used.
std::set<std::string> used_hcas(const FabricJob& job, int rank) {
  std::set<std::string> names;
  for (const auto& event : job.events(rank, "conn.open")) names.insert(event.at("dev").at("name"));
  return names;
}

void check_carried(const FabricJob& job) {
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    REQUIRE(job.events(rank, "plugin.load").size() >= 1);
    CHECK_FALSE(job.events(rank, "hca.port").empty());
    CHECK_FALSE(job.events(rank, "conn.ready").empty());
    CHECK_FALSE(job.events(rank, "qp.transition").empty());
  }
}

}  // namespace

TEST_CASE("the plugin is loaded by name and carries the job", "[diag]") {
  FabricJob job(2);
  add_traffic(job.spec);
  CHECK(failures(job.run()) == "");
  check_carried(job);
  for (int rank = 0; rank < 4; ++rank) {
    const auto hcas = used_hcas(job, rank);
    CHECK_FALSE(hcas.empty());
    for (const auto& hca : hcas) CHECK((hca == "mlx5_0" || hca == "mlx5_1"));
  }
}

TEST_CASE("NCCL_NET=IB takes the shim too", "[diag]") {
  FabricJob job(1);
  job.spec.environment["NCCL_NET"] = "IB";
  add_traffic(job.spec);
  CHECK(failures(job.run()) == "");
  check_carried(job);
}

TEST_CASE("without the shim the same job gives the same data", "[diag]") {
  FabricJob job(2);
  job.spec.environment["NCCL_NET_PLUGIN"] = "none";
  add_traffic(job.spec);
  const JobResult result = job.run();
  CHECK(failures(result) == "");
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(job.events(rank).empty());
    CHECK(result.ranks.at(static_cast<std::size_t>(rank)).output.find("Using network IB") !=
          std::string::npos);
  }
}

TEST_CASE("several communicators, a split one, and one after the last was destroyed", "[diag]") {
  FabricJob job(2);
  job.spec.actions = {{.kind = Kind::kCreate, .comm = 0},
                      {.kind = Kind::kCreate, .comm = 1},
                      {.kind = Kind::kCollective, .comm = 0, .bytes = 40000},
                      {.kind = Kind::kSplit, .comm = 1, .made = 2, .parts = 2},
                      {.kind = Kind::kCollective, .comm = 2, .bytes = 40000},
                      {.kind = Kind::kDestroy, .comm = 2},
                      {.kind = Kind::kDestroy, .comm = 1},
                      {.kind = Kind::kDestroy, .comm = 0},
                      {.kind = Kind::kCreate, .comm = 3},
                      {.kind = Kind::kCollective, .comm = 3, .bytes = 40000},
                      {.kind = Kind::kDestroy, .comm = 3}};
  CHECK(failures(job.run()) == "");
  check_carried(job);
}

TEST_CASE("everything of ours that can fail fails, and the job runs", "[diag]") {
  FabricJob job(1);
  for (int rank = 0; rank < 2; ++rank)
    job.spec.rank_environment[rank]["NCCL_NET_DIAG_FILE"] = "/proc/nowhere/%p.jsonl";
  job.spec.environment["NCCL_NET_DIAG_BLACKBOX"] = "/proc/nowhere/%p.nndbox";
  job.spec.environment["NCCL_NET_DIAG_SYSFS"] = "/proc/nowhere";
  for (auto& [node, environment] : job.spec.node_environment)
    environment.erase("NCCL_NET_DIAG_SYSFS");
  job.spec.environment["NCCL_NET_DIAG_POLICY"] = "/proc/nowhere/policy.toml";
  job.spec.environment["NCCL_NET_DIAG_MODE"] = "warn";
  add_traffic(job.spec);
  CHECK(failures(job.run()) == "");
}

TEST_CASE("a switched-off shim forwards everything", "[diag]") {
  FabricJob job(1);
  job.spec.environment["NCCL_NET_DIAG_DISABLE"] = "1";
  add_traffic(job.spec);
  CHECK(failures(job.run()) == "");
}

TEST_CASE("an abort with a collective under way", "[diag]") {
  FabricJob job(1);
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective, .bytes = 4000000},
                      {.kind = Kind::kAbort}};
  if (nnd::test::aborts_under_way())
    job.spec.actions.insert(job.spec.actions.begin() + 2, nnd::test::lone_collective());
  CHECK(failures(job.run()) == "");
  check_carried(job);
}

TEST_CASE("after a rank was killed the survivor's log names its process", "[diag]") {
  FabricJob job(1);
  job.spec.grace_sec = 5;
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective, .bytes = 400000},
                      {.kind = Kind::kDie, .only_rank = 1},
                      {.kind = Kind::kCollective, .bytes = 40000000, .only_rank = 0}};
  const JobResult result = job.run();
  CHECK(result.ranks.at(1).signal == 9);
  CHECK_FALSE(result.ranks.at(0).done);
  const auto load = job.events(1, "plugin.load");
  REQUIRE_FALSE(load.empty());
  bool named = false;
  for (const auto& event : job.events(0))
    if (event.contains("peer") && event.at("peer").value("proc", "") == load.front().at("proc"))
      named = true;
  CHECK(named);
}

TEST_CASE("sixteen ranks over eight HCAs a node", "[many]") {
  FabricJob job(8);
  nnd::test::avoid_lost_segments(job.spec);
  job.spec.actions = {{.kind = Kind::kCreate}};
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
        Collective::kBroadcast, Collective::kReduce, Collective::kSendRecv})
    job.spec.actions.push_back(
        {.kind = Kind::kCollective, .collective = collective, .bytes = 300000});
  job.spec.actions.push_back({.kind = Kind::kDestroy});
  CHECK(failures(job.run()) == "");
  std::set<std::string> hcas;
  for (int rank = 0; rank < 16; ++rank) {
    CHECK_FALSE(job.events(rank, "plugin.load").empty());
    hcas.merge(used_hcas(job, rank));
  }
  CHECK(hcas.size() > 1);  // NCCL chooses how many rails its rings take
}
