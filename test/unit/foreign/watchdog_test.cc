#include "foreign/watchdog.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "support/catch.h"

using namespace nnd::foreign;

namespace {

std::vector<FlightDump> dumps_of(const std::vector<std::string>& lines) {
  Watchdog watchdog;
  for (const auto& line : lines) watchdog.take(line, 1);
  return watchdog.dumps("out");
}

}  // namespace

TEST_CASE("how far each rank is, by its watchdog", "[watchdog]") {
  const auto dumps = dumps_of(
      {"[rank0]:[E1 ProcessGroupNCCL.cpp:1] [Rank 0] Watchdog caught collective operation timeout: "
       "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=10) ran for 11 "
       "ms",
       "[rank0]:[E1 ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure "
       "detected "
       "by watchdog at work sequence id: 5 PG status: last enqueued work: 7, last completed work: "
       "4",
       "[rank2]:[E1 ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump "
       "signal due to a collective timeout from rank 0. Last enqueued NCCL work: 4, last completed "
       "NCCL work: 4.This is"});
  REQUIRE(dumps.size() == 2);
  CHECK(dumps[0].rank == 0);
  CHECK(dumps[0].by_watchdog);
  REQUIRE(dumps[0].groups.size() == 1);
  const auto& group = dumps[0].groups[0];
  CHECK(group.description == "default_pg");
  CHECK(group.last.seq == 7);
  REQUIRE(group.unfinished.size() == 3);
  CHECK(group.unfinished[0].seq == 5);
  CHECK(group.unfinished[0].what == "ALLREDUCE");
  CHECK(group.unfinished[0].sizes == "[64]");
  CHECK(group.unfinished[1].what.empty());
  CHECK(dumps[1].rank == 2);
  CHECK(dumps[1].groups[0].unfinished.empty());
  CHECK(dumps[1].groups[0].last.seq == 4);
}

TEST_CASE("a rank that was given nothing, and lines that tell nothing", "[watchdog]") {
  const auto dumps = dumps_of(
      {"ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 3] PG status: last enqueued "
       "work: "
       "-1, last completed work: -1",
       "ProcessGroupNCCL preparing to dump", "[PG ID 0 Rank 1] last enqueued work: 5", ""});
  REQUIRE(dumps.size() == 1);
  CHECK(dumps[0].groups[0].last.seq == 0);
  CHECK(dumps[0].groups[0].unfinished.empty());
}

TEST_CASE("a timeout is told once for each rank, with numbers or without", "[watchdog]") {
  Watchdog watchdog;
  const std::string bare =
      "[rank1]:[E1 ProcessGroupNCCL.cpp:6] [TC][rank=1][name=0] Aborting process on rank 1 due to "
      "timeout - timeout watchdog detected operation timeout";
  watchdog.take(bare, 7);
  watchdog.take(bare, 8);
  REQUIRE(watchdog.timeouts().size() == 1);
  CHECK(watchdog.timeouts()[0].writer.rank == 1);
  CHECK(watchdog.timeouts()[0].line == 7);
  CHECK(watchdog.dumps("out").empty());
}

TEST_CASE("no more is made of a watchdog's numbers than is looked at", "[watchdog]") {
  const auto dumps =
      dumps_of({"ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 3] PG status: last "
                "enqueued work: "
                "9000000000000000000, last completed work: 1"});
  REQUIRE(dumps.size() == 1);
  CHECK(dumps[0].groups[0].unfinished.size() == 64);
}

TEST_CASE("the first group has all ranks, also those that told nothing", "[watchdog]") {
  const auto told = [](const std::string& group, int rank) {
    return fmt::format(
        "ProcessGroupNCCL.cpp:1537] [{} Rank {}] Timeout at NCCL work: 23, last enqueued NCCL "
        "work: 23, last completed NCCL work: 22.",
        group, rank);
  };
  for (const char* const first : {"PG 0", "PG ID 0 PG GUID 0(default_pg)"}) {
    const auto dumps = dumps_of({told(first, 1), told(first, 3)});
    REQUIRE(dumps.size() == 2);
    CHECK(dumps[0].groups[0].ranks == std::vector{0, 1, 2, 3});
    CHECK(dumps[1].groups[0].ranks.empty());
  }
  CHECK(dumps_of({told("PG 7", 3)}).at(0).groups[0].ranks.empty());
  CHECK(dumps_of({told("PG 0", -5)}).empty());
}
