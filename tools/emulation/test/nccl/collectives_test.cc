// Every played collective in real NCCL jobs over NCCL's own sockets, without our plugin: what
// softcuda itself can do.
#include <set>
#include <string>

#include "job/jobs.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::test::add_all_collectives;
using nnd::test::add_all_types;
using nnd::test::failures;
using nnd::test::socket_job;
using Kind = Action::Kind;

namespace {

// A few elements, an odd size in the middle, more than the connections' buffers.
constexpr std::initializer_list<std::size_t> kSizes = {40, 100008, 5000008};

}  // namespace

TEST_CASE("all collectives on two nodes", "[collectives]") {
  JobSpec spec = socket_job(2, 1);
  add_all_collectives(spec, kSizes);
  CHECK(failures(run_job(spec)) == "");
}

TEST_CASE("all collectives on two nodes of two GPUs", "[collectives]") {
  JobSpec spec = socket_job(2, 2);
  add_all_collectives(spec, kSizes);
  CHECK(failures(run_job(spec)) == "");
}

TEST_CASE("all collectives on two nodes of two GPUs that reach each other's memory",
          "[collectives]") {
  const auto memory_of = [](const char* cumem) {
    JobSpec spec = socket_job(2, 2);
    spec.nvswitch = true;
    add_all_collectives(spec, kSizes);
    spec.environment["NCCL_DEBUG"] = "INFO";
    if (cumem != nullptr) spec.environment["NCCL_CUMEM_ENABLE"] = cumem;
    const JobResult result = run_job(spec);
    CHECK(failures(result) == "");
    std::set<std::string> seen;
    for (const RankResult& rank : result.ranks)
      for (const char* way : {"via P2P/IPC", "via P2P/CUMEM"})
        if (rank.output.find(way) != std::string::npos) seen.insert(way);
    return seen;
  };
  using Ways = std::set<std::string>;
  CHECK(memory_of("0") == Ways{"via P2P/IPC"});
  // NCCL's default since 2.19, where the driver has cuMemCreate.
  CHECK(memory_of(nullptr) ==
        Ways{nnd::test::nccl_version() >= 21900 ? "via P2P/CUMEM" : "via P2P/IPC"});
}

TEST_CASE("all operations and types", "[collectives]") {
  JobSpec spec = socket_job(4, 1);  // a power of two: averages are exact
  add_all_types(spec);
  CHECK(failures(run_job(spec)) == "");
}

TEST_CASE("a transfer is cut over several channels", "[collectives]") {
  JobSpec spec = socket_job(2, 1);
  spec.environment["NCCL_MIN_P2P_NCHANNELS"] = "8";
  spec.environment["NCCL_NCHANNELS_PER_NET_PEER"] = "4";
  spec.actions.push_back({.kind = Kind::kCreate});
  for (const std::size_t bytes : {std::size_t{100000}, std::size_t{3000004}})
    spec.actions.push_back(
        {.kind = Kind::kCollective, .collective = Collective::kSendRecv, .bytes = bytes});
  spec.actions.push_back({.kind = Kind::kDestroy});
  CHECK(failures(run_job(spec)) == "");
}

TEST_CASE("sixteen ranks", "[many]") {
  JobSpec spec = socket_job(2, 8);
  nnd::test::avoid_lost_segments(spec);
  add_all_collectives(spec, {300000});
  CHECK(failures(run_job(spec)) == "");
}

TEST_CASE("sixty-four ranks", "[.][very-many]") {
  JobSpec spec = socket_job(8, 8);
  spec.environment["NCCL_MAX_NCHANNELS"] = "2";
  spec.deadline_sec = 550;
  spec.actions = {{.kind = Kind::kCreate},
                  {.kind = Kind::kCollective, .bytes = 100000},
                  {.kind = Kind::kDestroy}};
  CHECK(failures(run_job(spec)) == "");
}

TEST_CASE("two communicators, one of them split, destroyed and made anew", "[communicators]") {
  JobSpec spec = socket_job(2, 2);
  spec.actions = {
      {.kind = Kind::kCreate, .comm = 0},
      {.kind = Kind::kCreate, .comm = 1},
      {.kind = Kind::kCollective, .comm = 0, .bytes = 40000, .iterations = 3},
      {.kind = Kind::kCollective, .comm = 1, .collective = Collective::kAllGather, .bytes = 40000},
      {.kind = Kind::kSplit, .comm = 0, .made = 2, .parts = 2},
      {.kind = Kind::kCollective, .comm = 2, .bytes = 40000, .iterations = 2},
      {.kind = Kind::kDestroy, .comm = 2},
      {.kind = Kind::kDestroy, .comm = 0},
      {.kind = Kind::kCollective, .comm = 1, .collective = Collective::kSendRecv, .bytes = 40000},
      {.kind = Kind::kDestroy, .comm = 1},
      {.kind = Kind::kCreate, .comm = 3},
      {.kind = Kind::kCollective, .comm = 3, .bytes = 40000},
      {.kind = Kind::kDestroy, .comm = 3},
  };
  CHECK(failures(run_job(spec)) == "");
}

TEST_CASE("a collective that others never join is ended by an abort", "[communicators]") {
  JobSpec spec = socket_job(2, 1);
  nnd::test::add_abort(spec);
  CHECK(failures(run_job(spec)) == "");
}

TEST_CASE("what isn't played is an NCCL error, in time and on every rank", "[refusals]") {
  JobSpec spec = socket_job(2, 1);
  spec.actions = {{.kind = Kind::kCreate},
                  {.kind = Kind::kCollective, .operation = Operation::kProduct}};
  const JobResult result = run_job(spec);
  INFO(failures(result));
  REQUIRE(result.ranks.size() == 2);
  for (const RankResult& rank : result.ranks) {
    CHECK_FALSE(rank.late);
    CHECK_FALSE(rank.signal);
    CHECK(rank.error.find("ncclAllReduce: unhandled cuda error") == 0);
    CHECK(rank.error.find("softcuda doesn't play") != std::string::npos);
  }
}

TEST_CASE("a deadline ends the ranks", "[refusals]") {
  JobSpec spec = socket_job(2, 1);
  spec.deadline_sec = 4;
  spec.actions = {{.kind = Kind::kCreate},
                  {.kind = Kind::kCollective, .only_rank = 0},
                  {.kind = Kind::kDestroy, .only_rank = 0}};
  spec.actions.push_back(
      {.kind = Kind::kCreate, .comm = 1, .only_rank = 1});  // waits for an identity for ever
  const JobResult result = run_job(spec);
  CHECK_FALSE(result.ok());
  for (const RankResult& rank : result.ranks) {
    CHECK(rank.late);
    CHECK(rank.stacks.find("softcuda::run_rank") != std::string::npos);  // says where it hangs
  }
}

TEST_CASE("a rank that kills itself is told by its signal", "[refusals]") {
  JobSpec spec = socket_job(1, 1);
  spec.actions = {{.kind = Kind::kCreate}, {.kind = Kind::kDie}};
  const JobResult result = run_job(spec);
  CHECK(result.ranks.at(0).signal == 9);
  CHECK_FALSE(result.ok());
}
