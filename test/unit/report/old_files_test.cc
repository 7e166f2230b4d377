// Logs and black boxes that earlier versions left are read by every later one. fixtures/v3: a job
// of four ranks on two nodes over the emulated fabric, of which two are here; all were killed while
// rank 2 was in another collective. Logs of schema 1, boxes of layout 3.
#include <cstring>
#include <set>
#include <string>

#include "report/input.h"
#include "report/report.h"
#include "support/catch.h"

using namespace nnd::report;
namespace box = nccl_net_diag::box;

TEST_CASE("logs of schema 1 and boxes of layout 3 are read as they were", "[old]") {
  const Input input = read_input(files_of({NND_OLD_FILES "/v3"}));
  CHECK(input.problems.empty());
  CHECK(input.foreign_files == 0);
  CHECK(input.counts.foreign == 0);
  CHECK(input.counts.newer == 0);
  REQUIRE(input.boxes.size() == 2);
  std::set<int> ranks;
  std::size_t stalls = 0;
  for (const auto* process : input.job.processes()) {
    REQUIRE(process->rank);
    ranks.insert(*process->rank);
    CHECK(process->loaded);
    CHECK(process->nccl_version == "2.30.7");
    CHECK(process->launch.job == "70104");
    CHECK_FALSE(process->hcas.empty());
    CHECK_FALSE(process->connections.empty());
    stalls += process->stalls.size();
    REQUIRE_FALSE(process->communicators.empty());
    CHECK(process->communicators.begin()->second.nranks == 4);
    CHECK_FALSE(process->communicators.begin()->second.tasks.empty());
    const Box& own = input.boxes.at(process->proc);
    CHECK(own.damaged == 0);
    CHECK(own.alive_ns > process->first_ns);
    REQUIRE_FALSE(own.conns.empty());
    for (const auto& conn : own.conns) {
      if (conn.conn == 0) continue;
      CHECK(std::string(conn.device).starts_with("mlx5_"));
      CHECK(box::kStageNames[conn.stage] == std::string("ready"));
      CHECK(conn.started != 0);
    }
  }
  CHECK(ranks == std::set<int>{0, 2});
  CHECK(stalls != 0);
}
