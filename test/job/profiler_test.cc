// Whose each connection is, and what each communicator was asked for, as NCCL's profiler API tells
// it; compared with what the job did and with NCCL's own lines.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "job/labels.h"
#include "job/profiled.h"

using namespace softcuda;
using nlohmann::json;
using namespace nnd::test;
using Kind = Action::Kind;

namespace {

std::uint64_t sum(const json& buckets) {
  std::uint64_t all = 0;
  for (const auto& [least, count] : buckets.items()) all += count.get<std::uint64_t>();
  return all;
}

// While connections get their labels NCCL tells of steps, and all that is told is accounted for.
void check_step_times(const FabricJob& job, int rank) {
  if (loses_ends_of_steps()) return;
  std::uint64_t sends = 0, receives = 0;
  for (const json& e : job.events(rank, "coll.count"))
    for (const json& one : e.at("ran")) {
      if (!one.contains("steps")) continue;
      const json& steps = one.at("steps");
      INFO(one.dump());
      sends += steps.at("sends").get<std::uint64_t>();
      receives += steps.at("receives").get<std::uint64_t>();
      CHECK(steps.at("sending_us") > 0);
      CHECK(steps.at("receiving_us") > 0);
      // No step is longer than the job: two minutes.
      for (const char* const phase :
           {"before_send_us", "sending_us", "receiving_us", "after_receive_us"})
        CHECK(steps.at(phase).get<double>() < 120e6 * static_cast<double>(sends + receives));
    }
  CHECK(sends > 0);
  CHECK(receives > 0);
}

json first_of_profiler(const FabricJob& job, int rank) {
  for (const json& e : job.events(rank, "comm.init"))
    if (e.contains("profiler_api")) return e;
  return nullptr;
}

// Two communicators and a split: whose each connection is, and what was called.
void check_all_labels(ProfiledJob& job) {
  job.spec.environment["NCCL_ALGO"] = "Ring";
  auto& actions = job.spec.actions;
  constexpr int kCommunicators = 3;
  constexpr std::uint64_t kReduced = 1 << 20, kGathered = 4096;
  actions.push_back({.kind = Kind::kCreate, .comm = 0});
  actions.push_back({.kind = Kind::kCreate, .comm = 1});
  actions.push_back({.kind = Kind::kSplit, .comm = 0, .made = 2, .parts = 2});
  for (int comm = 0; comm < kCommunicators; ++comm) {
    actions.push_back(
        {.kind = Kind::kCollective, .comm = comm, .bytes = kReduced, .iterations = 3 + comm});
    actions.push_back({.kind = Kind::kCollective,
                       .comm = comm,
                       .collective = Collective::kAllGather,
                       .bytes = kGathered,
                       .iterations = 2});
  }
  for (int comm = kCommunicators; comm-- > 0;)
    actions.push_back({.kind = Kind::kDestroy, .comm = comm});
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");

  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    const auto rings = rings_of_nccl(result.ranks[static_cast<std::size_t>(rank)]);
    const auto made = hashes(job, rank);
    REQUIRE(rings.size() == kCommunicators);
    REQUIRE(made.size() == kCommunicators);
    const bool tells_size = nccl_version() >= 22700;
    CHECK(members(job, rank) ==
          std::map<std::string, std::pair<int, int>>{{made[0], {rank, tells_size ? 4 : -1}},
                                                     {made[1], {rank, tells_size ? 4 : -1}},
                                                     {made[2], {rank / 2, tells_size ? 2 : -1}}});
    const auto at_close = labelled(job, rank, "conn.close", "collective");
    const auto when_known = labelled(job, rank, "conn.who", "collective");
    const auto ran = counts(job, rank, "ran");
    const auto called = counts(job, rank, "called");
    for (std::size_t comm = 0; comm < kCommunicators; ++comm) {
      INFO("communicator " << comm << ", " << made[comm]);
      CHECK(at_close.at(made[comm]) == rings[comm]);
      if (const auto known = when_known.find(made[comm]); known != when_known.end())
        CHECK(std::includes(rings[comm].begin(), rings[comm].end(), known->second.begin(),
                            known->second.end()));
      const std::uint64_t reductions = 3 + comm;
      const std::map<std::string, Count> expected = {
          {"AllReduce", {reductions, reductions * kReduced}}, {"AllGather", {2, 2 * kGathered}}};
      CHECK(ran.at(made[comm]) == expected);
      if (nccl_version() >= 22800) CHECK(called.at(made[comm]) == expected);
    }
    for (const json& e : job.events(rank, "conn.close")) {
      INFO(e.dump());
      CHECK(e.contains("how") == (e.at("started") > 0));
      if (e.contains("how")) CHECK(e.at("how") == how());
    }
    for (const json& e : job.events(rank, "coll.count")) {
      std::uint64_t busy_ns = 0;
      for (const json& one : e.at("ran")) {
        CHECK(one.at("last_seq").get<std::uint64_t>() + 1 == one.at("calls"));
        CHECK(sum(one.at("took_ns")) == one.at("calls"));
        CHECK(sum(one.at("busy_calls")) <= one.at("calls"));
        CHECK(sum(one.at("busy_bytes")) <= one.at("bytes"));
        busy_ns += sum(one.at("busy_ns"));
      }
      CHECK(busy_ns > 0);
      CHECK(busy_ns <=
            e.at("mono_ns").get<std::uint64_t>() -
                job.events(rank, "plugin.load").front().at("mono_ns").get<std::uint64_t>());
    }
    check_step_times(job, rank);
    // NCCL has always begun with the net.
    CHECK(job.events(rank, "plugin.load").front().at("seq") <
          first_of_profiler(job, rank).at("seq"));
  }
}

}  // namespace

TEST_CASE("every connection's rank, peer and channel, and every collective", "[profiler]") {
  ProfiledJob job;
  check_all_labels(job);
  job.check_logs();
}

TEST_CASE("the same of a stripped library", "[profiler-stripped]") {
  ProfiledJob job;
  job.strip_nccl();
  check_all_labels(job);
}

// Communicators of all kinds, some after the plugin was unloaded.
TEST_CASE("labels after a split of a split, and after all was gone", "[profiler]") {
  ProfiledJob job;
  job.spec.environment["NCCL_ALGO"] = "Ring";
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kSplit, .made = 1, .parts = 1},
                      {.kind = Kind::kSplit, .comm = 1, .made = 2, .parts = 2},
                      {.kind = Kind::kCollective, .comm = 2},
                      {.kind = Kind::kDestroy, .comm = 2},
                      {.kind = Kind::kDestroy, .comm = 1},
                      {.kind = Kind::kDestroy},
                      {.kind = Kind::kCreate, .comm = 3},
                      {.kind = Kind::kCollective, .comm = 3, .iterations = 2},
                      {.kind = Kind::kDestroy, .comm = 3}};
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    const auto rings = rings_of_nccl(result.ranks[static_cast<std::size_t>(rank)]);
    REQUIRE(rings.size() == 4);
    const auto ways = labelled(job, rank, "conn.close", "collective");
    const auto counted = job.events(rank, "coll.count");  // of those that were used
    REQUIRE(counted.size() == 2);
    CHECK(ways.size() == 2);
    CHECK(ways.at(counted[0].at("comm")) == rings[2]);
    CHECK(ways.at(counted[1].at("comm")) == rings[3]);
    CHECK(counted[1].at("ran").at(0).at("calls") == 2);
  }
}

TEST_CASE("labels before and after an abort", "[profiler]") {
  ProfiledJob job(1);
  job.spec.environment["NCCL_ALGO"] = "Ring";
  add_abort(job.spec);
  REQUIRE(failures(job.run()) == "");
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    const auto counted = job.events(rank, "coll.count");
    REQUIRE(counted.size() == 2);
    const auto ways = labelled(job, rank, "conn.close", "collective");
    for (const json& e : counted) {
      CHECK(e.at("last") == true);
      REQUIRE(ways.contains(e.at("comm")));
      for (const Way& way : ways.at(e.at("comm"))) {
        CHECK(way.rank == rank);
        CHECK(way.peer == 1 - rank);
      }
    }
  }
}

TEST_CASE("a communicator that was shrunk has ranks and rings of its own", "[shrink]") {
  ProfiledJob job;
  job.spec.environment["NCCL_ALGO"] = "Ring";
  const int gone = job.spec.ranks() - 1;
  auto& actions = job.spec.actions;
  actions = {{.kind = Kind::kCreate}, {.kind = Kind::kCollective}};
  const auto by_the_others = [&](Action action) {
    for (int rank = 0; rank < gone; ++rank) {
      action.only_rank = rank;
      actions.push_back(action);
    }
  };
  by_the_others({.kind = Kind::kShrink, .made = 1});
  by_the_others({.kind = Kind::kCollective, .comm = 1, .iterations = 2});
  by_the_others({.kind = Kind::kDestroy, .comm = 1});  // after a meeting
  actions.push_back({.kind = Kind::kMeet, .only_rank = gone});
  actions.push_back({.kind = Kind::kDestroy});
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");
  for (int rank = 0; rank < gone; ++rank) {
    INFO("rank " << rank);
    const auto rings = rings_of_nccl(result.ranks[static_cast<std::size_t>(rank)]);
    REQUIRE(rings.size() == 2);
    const auto made = hashes(job, rank);
    REQUIRE(made.size() == 2);
    CHECK(members(job, rank).at(made[1]) == std::pair<int, int>{rank, gone});
    const auto ways = labelled(job, rank, "conn.close", "collective");
    CHECK(ways.at(made[0]) == rings[0]);
    CHECK(ways.at(made[1]) == rings[1]);
    CHECK(counts(job, rank, "ran").at(made[1]).at("AllReduce").first == 2);
  }
  CHECK(hashes(job, gone).size() == 1);
}

TEST_CASE("sends and receives are the ranks' that make them", "[profiler]") {
  ProfiledJob job;
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective,
                       .collective = Collective::kSendRecv,
                       .bytes = 100000,
                       .iterations = 3},
                      {.kind = Kind::kDestroy}};
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    const auto ways = labelled(job, rank, "conn.close", "send-receive");
    REQUIRE(ways.size() == 1);
    // One transfer need not take all channels.
    const std::set<Way> own(ways.begin()->second.begin(), ways.begin()->second.end());
    const auto nccls = transfers_of_nccl(result.ranks[static_cast<std::size_t>(rank)]);
    CHECK(own.size() >= 2);
    CHECK(std::includes(nccls.begin(), nccls.end(), own.begin(), own.end()));
    const auto ran = counts(job, rank, "ran");
    REQUIRE(ran.size() == 1);
    CHECK(ran.begin()->second ==
          std::map<std::string, Count>{{"Send", {3, 300000}}, {"Recv", {3, 300000}}});
  }
}

TEST_CASE("without the profiler connections have no rank, and nothing else is missing",
          "[profiler]") {
  ProfiledJob job;
  job.spec.environment["NCCL_NET_DIAG_PROFILER"] = "off";
  job.spec.actions = {
      {.kind = Kind::kCreate}, {.kind = Kind::kCollective}, {.kind = Kind::kDestroy}};
  REQUIRE(failures(job.run()) == "");
  job.check_carried();
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    CHECK(job.events(rank, "coll.count").empty());
    CHECK(job.events(rank, "conn.who").empty());
    for (const json& e : job.events(rank)) CHECK_FALSE(e.contains("how"));
  }
}

TEST_CASE("the profiler alone, where NCCL has another net, counts what was called", "[profiler]") {
  ProfiledJob job;
  job.spec.environment.erase("NCCL_NET_PLUGIN");
  job.spec.environment["NCCL_PROFILER_PLUGIN"] = "libnccl-net-diag.so";
  job.spec.environment["NCCL_IB_GID_INDEX"] = "3";
  job.spec.actions = {{.kind = Kind::kCreate},
                      {.kind = Kind::kCollective, .bytes = 4096, .iterations = 3},
                      {.kind = Kind::kDestroy}};
  REQUIRE(failures(job.run()) == "");
  job.check_logs();
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    CHECK(job.events(rank, "plugin.load").empty());
    CHECK(first_of_profiler(job, rank).at("rank") == rank);
    const auto ran = counts(job, rank, "ran");
    REQUIRE(ran.size() == 1);
    CHECK(ran.begin()->second == std::map<std::string, Count>{{"AllReduce", {3, 3 * 4096}}});
  }
}

TEST_CASE("NCCL comes for the profiler with a second variable and without", "[profiler]") {
  for (const char* named : {"", "libnccl-net-diag.so"}) {
    INFO(named);
    ProfiledJob job(1);
    if (*named != 0) job.spec.environment["NCCL_PROFILER_PLUGIN"] = named;
    // The last communicator's end has NCCL close its profiler, the next one opens it again.
    job.spec.actions = {{.kind = Kind::kCreate},
                        {.kind = Kind::kCollective, .bytes = 4096},
                        {.kind = Kind::kDestroy},
                        {.kind = Kind::kCreate, .comm = 1},
                        {.kind = Kind::kCollective, .comm = 1, .bytes = 4096},
                        {.kind = Kind::kDestroy, .comm = 1}};
    REQUIRE(failures(job.run()) == "");
    const auto loaded = job.events(0, "plugin.load");
    REQUIRE(loaded.size() == 1);
    INFO(loaded.front().dump());
    CHECK(loaded.front().at("layers").back() == "profiler");
    CHECK(loaded.front().at("limits").empty());
    CHECK(job.events(0, "coll.count").size() == 2);
  }
}
