// What happens to jobs over the shim: several communicators, faults of ours, an abort, a dead rank.
#include <algorithm>
#include <set>
#include <string>

#include "job/fabric.h"
#include "support/catch.h"

using namespace softcuda;
using nlohmann::json;
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

std::string peer(const json& event, const char* key) {
  return event.contains("peer") ? event.at("peer").value(key, "") : "";
}

// A failed connection or completion that names the process: by its identity, or by the GID that
// the same log has for it (who only receives never learns the identity).
bool blames(const std::vector<json>& log, const std::string& proc) {
  std::set<std::string> gids;
  for (const json& event : log)
    if (peer(event, "proc") == proc) gids.insert(peer(event, "gid"));
  gids.erase("");
  return std::any_of(log.begin(), log.end(), [&](const json& event) {
    const std::string name = event.at("ev");
    return (name == "conn.fail" || name == "wc.error") &&
           (peer(event, "proc") == proc || gids.count(peer(event, "gid")) != 0);
  });
}

}  // namespace

TEST_CASE("NCCL_NET=IB takes the shim too", "[life]") {
  FabricJob job(1);
  job.spec.environment["NCCL_NET"] = "IB";
  add_traffic(job.spec);
  CHECK(failures(job.run()) == "");
  job.check_carried();
}

TEST_CASE("several communicators, a split one, and one after the last was destroyed", "[life]") {
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
  job.check_carried();
}

TEST_CASE("everything of ours that can fail fails, and the job runs", "[life]") {
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

TEST_CASE("a switched-off shim forwards everything", "[life]") {
  FabricJob job(1);
  job.spec.environment["NCCL_NET_DIAG_DISABLE"] = "1";
  add_traffic(job.spec);
  CHECK(failures(job.run()) == "");
}

TEST_CASE("an abort with a collective under way", "[life]") {
  FabricJob job(1);
  nnd::test::add_abort(job.spec);
  CHECK(failures(job.run()) == "");
  job.check_carried();
}

TEST_CASE("after a rank was killed the survivor's log blames its process", "[life]") {
  FabricJob job(1);
  job.spec.grace_sec = 30;  // ended by the event
  job.spec.environment["NCCL_IB_TIMEOUT"] = "12";
  job.spec.environment["NCCL_IB_RETRY_CNT"] = "2";
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective, .bytes = 400000},
                      {.kind = Kind::kMeet},
                      {.kind = Kind::kDie, .only_rank = 1},
                      {.kind = Kind::kMeet},  // rank 1 is gone
                      {.kind = Kind::kCollective, .bytes = 40000000, .only_rank = 0}};
  const auto blamed = [&job] {
    const auto load = job.events(1, "plugin.load");
    return !load.empty() && blames(job.events(0), load.front().at("proc"));
  };
  const JobResult result = job.run(blamed);
  INFO(failures(result));
  CHECK(result.ranks.at(1).signal == 9);
  CHECK_FALSE(result.ranks.at(0).done);
  CHECK(blamed());
  CHECK_FALSE(result.segments.empty());
}
