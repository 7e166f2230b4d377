// Who carries a communicator: lists of plugins, broken settings of ours, and what is made after the
// last one was destroyed.
#include <string>

#include "job/fabric.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::FabricJob;
using nnd::test::failures;
using nnd::test::nccl_version;
using Kind = Action::Kind;

namespace {

std::vector<Action> short_life(int comm) {
  return {{.kind = Kind::kCreate, .comm = comm},
          {.kind = Kind::kCollective, .comm = comm, .bytes = 40000},
          {.kind = Kind::kDestroy, .comm = comm}};
}

// How many connections of rank 0 our plugin has seen.
std::size_t carried(const FabricJob& job) { return job.events(0, "conn.ready").size(); }

}  // namespace

TEST_CASE("a communicator after the last was destroyed", "[lifecycle]") {
  std::size_t once = 0;
  {
    FabricJob job(1);
    job.spec.actions = short_life(0);
    REQUIRE(failures(job.run()) == "");
    once = carried(job);
    REQUIRE(once > 0);
  }
  for (const bool counted : {true, false}) {
    FabricJob job(1);
    if (!counted) job.spec.environment.erase("NCCL_NET_PLUGIN_REF_COUNT");
    job.spec.actions = short_life(0);
    for (const Action& action : short_life(1)) job.spec.actions.push_back(action);
    INFO("NCCL_NET_PLUGIN_REF_COUNT " << (counted ? "1" : "not set"));
    CHECK(failures(job.run()) == "");
    // From 2.28.3 to 2.29.7 NCCL forgets the plugin's name with its last communicator.
    const bool forgotten = !counted && nccl_version() >= 22803 && nccl_version() <= 22907;
    CHECK(carried(job) == (forgotten ? once : 2 * once));
  }
}

TEST_CASE("a list of plugins", "[list]") {
  FabricJob job(1);
  job.spec.environment["NCCL_NET_PLUGIN"] = "not-there,diag";
  job.spec.actions = short_life(0);
  CHECK(failures(job.run()) == "");
  CHECK(carried(job) > 0);
}

// Where NCCL knows one name only it looks for a plugin that is called like the whole list.
TEST_CASE("a list of plugins is one name, of none", "[no-list]") {
  FabricJob job(1);
  job.spec.environment["NCCL_NET_PLUGIN"] = "not-there,diag";
  job.spec.actions = short_life(0);
  const JobResult result = job.run();
  CHECK(failures(result) == "");
  for (const RankResult& rank : result.ranks) {
    INFO(rank.output);
    CHECK(job.events(rank.rank).empty());
    CHECK(rank.output.find("not-there,diag") != std::string::npos);  // NCCL says what it looked for
    CHECK(rank.output.find("Using network IB") != std::string::npos);
  }
}

TEST_CASE("bad settings of ours are told and stop nothing", "[lifecycle]") {
  FabricJob job(1);
  job.spec.environment["NCCL_NET_DIAG_MAX_MB"] = "much";
  job.spec.environment["NCCL_NET_DIAG_EVNTS"] = "qp.*";
  job.spec.environment["NCCL_NET_DIAG_INNER"] = "auto";
  job.spec.actions = short_life(0);
  CHECK(failures(job.run()) == "");
  CHECK(carried(job) > 0);
  std::string told;
  for (const auto& event : job.events(0))
    if (event.at("sev") == "warn")
      told += event.value("msg", "") + " " + event.value("fix", "") + "\n";
  INFO(told);
  CHECK(told.find("NCCL_NET_DIAG_MAX_MB") != std::string::npos);
  CHECK(told.find("NCCL_NET_DIAG_EVENTS") != std::string::npos);
}

TEST_CASE("an error that isn't ours stays NCCL's own", "[lifecycle]") {
  FabricJob job(1);
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective,
                       .collective = Collective::kBroadcast,
                       .bytes = 40000,
                       .root = 99}};
  const JobResult result = job.run();
  for (const RankResult& rank : result.ranks) {
    INFO(failures(result));
    CHECK(rank.error.find("invalid argument") != std::string::npos);
    CHECK(rank.error.find("nccl-net-diag") == std::string::npos);
    CHECK(rank.error.find("NET/DIAG") == std::string::npos);
  }
}
