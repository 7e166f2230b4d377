// What ends in groups, nested ones too: communicators that are finalised, destroyed, aborted and
// shrunk, each in a thread of NCCL's own, beside others that are made and used. NCCL takes all of
// that in a group from 2.22 on, shrinking since there is such a thing (2.27); it begins with it at
// the group's end, before it launches what was called.
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>

#include "job/labels.h"
#include "job/profiled.h"
#include "log/box.h"

using namespace softcuda;
using namespace nnd::test;
using nlohmann::json;
using Kind = Action::Kind;

namespace {

constexpr std::uint64_t kReduced = 1 << 20;
// How often a communicator is used before anything else: more than once, since NCCL may note the
// first call before it has made the connections; and each another number of times, by which its
// events are told apart, whose order is NCCL's.
constexpr int kCalls[] = {3, 4, 5, 6, 7};

const Action kOpen{.kind = Kind::kGroupStart}, kEnd{.kind = Kind::kGroupEnd};

Action create(int comm) { return {.kind = Kind::kCreate, .comm = comm}; }
Action reduce(int comm) { return {.kind = Kind::kCollective, .comm = comm, .bytes = kReduced}; }
Action use(int comm) {
  Action action = reduce(comm);
  action.iterations = kCalls[comm];
  return action;
}
Action finalize(int comm) { return {.kind = Kind::kFinalize, .comm = comm}; }
Action destroy(int comm) { return {.kind = Kind::kDestroy, .comm = comm}; }
Action abort(int comm) { return {.kind = Kind::kAbort, .comm = comm}; }
Action shrink(int comm, int made) { return {.kind = Kind::kShrink, .comm = comm, .made = made}; }

struct EndedJob : ProfiledJob {
  EndedJob() { spec.environment["NCCL_ALGO"] = "Ring"; }

  void add(std::initializer_list<Action> actions) {
    spec.actions.insert(spec.actions.end(), actions.begin(), actions.end());
  }
  // In one group, then used.
  void create_and_use(int comms) {
    add({kOpen});
    for (int comm = 0; comm < comms; ++comm) add({create(comm)});
    add({kEnd});
    for (int comm = 0; comm < comms; ++comm) add({use(comm)});
  }
  // By all ranks but the last.
  void add_without_last(std::initializer_list<Action> actions) {
    const int last = spec.ranks() - 1;
    for (Action action : actions) {
      for (int rank = 0; rank < last; ++rank) {
        action.only_rank = rank;
        spec.actions.push_back(action);
      }
      if (action.kind == Kind::kDestroy)  // after a meeting
        spec.actions.push_back({.kind = Kind::kMeet, .only_rank = last});
    }
  }
};

using Calls = std::multiset<std::uint64_t>;

Calls calls(const FabricJob& job, int rank, const std::string& list) {
  Calls all;
  for (const auto& [comm, kinds] : counts(job, rank, list)) {
    CHECK(kinds.size() == 1);
    const auto [number, bytes] = kinds.at("AllReduce");
    CHECK(bytes == number * kReduced);
    all.insert(number);
  }
  return all;
}

std::uint64_t hash(const json& event) {
  return std::stoull(event.at("comm").get<std::string>(), nullptr, 16);
}

std::multiset<std::uint64_t> communicators(const FabricJob& job, int rank, const std::string& event,
                                           bool by_the_net) {
  std::multiset<std::uint64_t> all;
  for (const json& e : job.events(rank, event))
    if (e.contains("net_api") == by_the_net) all.insert(hash(e));
  return all;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::multiset<json> connections(const FabricJob& job, int rank, const std::string& event) {
  std::multiset<json> all;
  for (const json& e : job.events(rank, event)) all.insert(e.at("conn"));
  return all;
}

// A rank's communicators were used so often, and of each the log has beginning, end and all
// connections.
void check_whole(const FabricJob& job, const RankResult& told_by_nccl, const Calls& expected) {
  const int rank = told_by_nccl.rank;
  INFO("rank " << rank);
  const auto made = communicators(job, rank, "comm.init", false);
  CHECK(made.size() == expected.size());
  CHECK(communicators(job, rank, "comm.finalize", false) == made);
  if (nccl_version() >= 22800) {  // before, the net API doesn't tell of communicators
    CHECK(communicators(job, rank, "comm.init", true) == made);
    CHECK(communicators(job, rank, "comm.finalize", true) == made);
    CHECK(calls(job, rank, "called") == expected);
  }
  CHECK(calls(job, rank, "ran") == expected);
  for (const json& e : job.events(rank, "coll.count")) CHECK(e.at("last") == true);

  CHECK_FALSE(job.events(rank, "conn.ready").empty());
  CHECK(connections(job, rank, "conn.ready") == connections(job, rank, "conn.close"));
  for (const json& e : job.events(rank, "conn.close")) {
    INFO(e.dump());
    CHECK(e.contains("how") == (e.at("started") > 0));
  }
  const auto rings = rings_of_nccl(told_by_nccl);
  std::multiset<Ways> ours;
  for (const auto& [comm, ways] : labelled(job, rank, "conn.close", "collective")) {
    CHECK(made.contains(std::stoull(comm, nullptr, 16)));
    ours.insert(ways);
  }
  CHECK(ours == std::multiset<Ways>(rings.begin(), rings.end()));
  for (const json& e : job.events(rank)) {
    INFO(e.dump());
    CHECK(e.at("sev") == "info");
  }
}

}  // namespace

TEST_CASE("finalised and destroyed in groups", "[profiler]") {
  EndedJob job;
  job.create_and_use(4);
  job.add({{.kind = Kind::kMeet},  //
           kOpen,
           finalize(0),
           kOpen,
           finalize(1),
           kEnd,
           kEnd,  //
           // Two that were finalised and one that was not, one new, one in use.
           kOpen,
           destroy(0),
           kOpen,
           destroy(1),
           destroy(2),
           kEnd,
           create(4),
           reduce(3),
           kEnd,  //
           use(4),
           kOpen,
           destroy(4),
           destroy(3),
           kEnd});
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");
  job.check_logs();
  for (const RankResult& rank : result.ranks)
    check_whole(job, rank, {kCalls[0], kCalls[1], kCalls[2], kCalls[3] + 1, kCalls[4]});
}

TEST_CASE("aborted in groups", "[profiler]") {
  EndedJob job;
  job.create_and_use(4);
  job.add({{.kind = Kind::kMeet}});
  if (aborts_under_way()) {
    Action under_way = reduce(0);
    under_way.wait = false;
    under_way.only_rank = 0;
    job.add({under_way});
  }
  job.add({kOpen,
           abort(0),
           kOpen,
           abort(1),
           destroy(2),
           kEnd,
           reduce(3),
           create(4),
           kEnd,  //
           use(4),
           {.kind = Kind::kMeet},
           kOpen,
           abort(4),
           abort(3),
           kEnd});
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");
  job.check_logs();
  for (const RankResult& rank : result.ranks) {
    const unsigned more = rank.rank == 0 && aborts_under_way() ? 1 : 0;
    check_whole(job, rank, {kCalls[0] + more, kCalls[1], kCalls[2], kCalls[3] + 1, kCalls[4]});
  }
}

TEST_CASE("shrunk in groups", "[shrink]") {
  EndedJob job;
  job.create_and_use(2);
  job.add({kOpen});
  job.add_without_last({shrink(0, 2), kOpen, shrink(1, 3), kEnd});
  job.add({create(4), reduce(0), kEnd, use(4)});
  job.add_without_last({use(2), use(3), kOpen, destroy(2), destroy(3), kEnd});
  job.add({kOpen, destroy(0), destroy(1), destroy(4), kEnd});
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");
  job.check_logs();
  for (const RankResult& rank : result.ranks) {
    Calls expected{kCalls[0] + 1, kCalls[1], kCalls[4]};
    if (rank.rank < job.spec.ranks() - 1) expected.insert({kCalls[2], kCalls[3]});
    check_whole(job, rank, expected);
  }
}

TEST_CASE("the black box has those that go on", "[profiler]") {
  EndedJob job;
  const auto file = [&](int rank) {
    return job.dir() / ("rank" + std::to_string(rank) + ".nndbox");
  };
  for (int rank = 0; rank < job.spec.ranks(); ++rank)
    job.spec.rank_environment[rank]["NCCL_NET_DIAG_BLACKBOX"] = file(rank).string();
  job.create_and_use(3);
  job.add({{.kind = Kind::kMeet},  //
           kOpen,
           destroy(0),
           abort(2),
           create(3),
           kEnd,
           use(3),                                    //
           {.kind = Kind::kCompute, .ms = 600000}});  // until the job is ended
  const auto is_right = [&](int rank) {
    const auto made = communicators(job, rank, "comm.init", false);
    auto told = communicators(job, rank, "comm.finalize", false);
    const auto box = nnd::log::read_box(bytes_of(file(rank)));
    if (made.size() != 4 || told.size() != 2 || box.comms.size() != 2) return false;
    for (const auto& comm : box.comms) told.insert(comm.hash);
    return told == made;
  };
  const auto are_right = [&] {
    for (int rank = 0; rank < job.spec.ranks(); ++rank)
      if (!is_right(rank)) return false;
    return true;
  };
  INFO(failures(job.run(are_right)));
  CHECK(are_right());
}
