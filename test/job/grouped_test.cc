// What NCCL is asked for in groups, nested ones too: communicators that are made together, each in
// a thread of NCCL's own, and the work of several at once.
#include <map>
#include <set>
#include <string>

#include "job/labels.h"
#include "job/profiled.h"

using namespace softcuda;
using namespace nnd::test;
using nlohmann::json;
using Kind = Action::Kind;

namespace {

constexpr std::uint64_t kReduced = 1 << 20, kGathered = 1 << 18, kSent = 100000;
constexpr int kCommunicators = 4, kRounds = 3;

Action reduce(int comm) { return {.kind = Kind::kCollective, .comm = comm, .bytes = kReduced}; }
Action gather(int comm) {
  return {.kind = Kind::kCollective,
          .comm = comm,
          .collective = Collective::kAllGather,
          .bytes = kGathered};
}
Action send(int comm) {
  return {
      .kind = Kind::kCollective, .comm = comm, .collective = Collective::kSendRecv, .bytes = kSent};
}

std::vector<Action> actions() {
  const Action open{.kind = Kind::kGroupStart}, end{.kind = Kind::kGroupEnd};
  const auto create = [](int comm) { return Action{.kind = Kind::kCreate, .comm = comm}; };
  const auto destroy = [](int comm) { return Action{.kind = Kind::kDestroy, .comm = comm}; };
  const Action split{.kind = Kind::kSplit, .comm = 0, .made = 2, .parts = 2};
  const std::vector<Action> made = {open, create(0), create(1), end,  // two at once
                                    open, open,      split,     end, create(3), end};  // nested
  const std::vector<Action> work = {open,      reduce(0), gather(1), open,      send(2), reduce(0),
                                    end,       reduce(2), end,  // of three
                                    reduce(1), open,      gather(1), reduce(3), send(0), end};
  std::vector<Action> all = made;
  // Again: what NCCL is to tell of a call it may have noted before the call made its connections.
  for (int round = 0; round < kRounds; ++round) all.insert(all.end(), work.begin(), work.end());
  for (int comm = kCommunicators; comm-- > 0;) all.push_back(destroy(comm));
  return all;
}

using Counts = std::map<std::string, Count>;
// Of one round.
const Counts kCalls[kCommunicators] = {
    {{"AllReduce", {2, 2 * kReduced}}, {"Send", {1, kSent}}, {"Recv", {1, kSent}}},
    {{"AllReduce", {1, kReduced}}, {"AllGather", {2, 2 * kGathered}}},
    {{"AllReduce", {1, kReduced}}, {"Send", {1, kSent}}, {"Recv", {1, kSent}}},
    {{"AllReduce", {1, kReduced}}}};

Counts expected(std::size_t comm) {
  Counts all = kCalls[comm];
  for (auto& [kind, count] : all) count = {kRounds * count.first, kRounds * count.second};
  return all;
}

}  // namespace

TEST_CASE("in groups all is labelled and counted as outside of them", "[profiler]") {
  ProfiledJob job;
  job.spec.environment["NCCL_ALGO"] = "Ring";
  job.spec.actions = actions();
  const JobResult result = job.run();
  REQUIRE(failures(result) == "");
  job.check_logs();
  const bool tells_size = nccl_version() >= 22700;
  for (int rank = 0; rank < job.spec.ranks(); ++rank) {
    INFO("rank " << rank);
    const RankResult& told_by_nccl = result.ranks[static_cast<std::size_t>(rank)];
    const auto made = hashes(job, rank);
    REQUIRE(made.size() == kCommunicators);
    const std::pair<int, int> whole{rank, tells_size ? 4 : -1}, part{rank / 2, tells_size ? 2 : -1};
    CHECK(members(job, rank) ==
          std::map<std::string, std::pair<int, int>>{
              {made[0], whole}, {made[1], whole}, {made[2], part}, {made[3], whole}});

    // Which of the two that were made together was the first isn't told.
    const auto at_close = labelled(job, rank, "conn.close", "collective");
    const auto rings = rings_of_nccl(told_by_nccl);
    std::multiset<Ways> ours;
    for (const auto& [comm, ways] : at_close) ours.insert(ways);
    CHECK(ours == std::multiset<Ways>(rings.begin(), rings.end()));

    const auto ran = counts(job, rank, "ran"), called = counts(job, rank, "called");
    for (std::size_t comm = 0; comm < kCommunicators; ++comm) {
      INFO("communicator " << comm);
      const std::string& hash = made[comm];
      CHECK(ran.at(hash) == expected(comm));
      if (nccl_version() >= 22800) CHECK(called.at(hash) == expected(comm));
    }
    const auto transfers = labelled(job, rank, "conn.close", "send-receive");
    std::set<std::string> with_transfers;
    const auto nccls = transfers_of_nccl(told_by_nccl);
    for (const auto& [comm, ways] : transfers) {
      with_transfers.insert(comm);
      for (const Way& way : ways) {
        INFO(way);
        CHECK(nccls.contains(way));
      }
    }
    CHECK(with_transfers == std::set<std::string>{made[0], made[2]});
    for (const json& e : job.events(rank, "coll.count"))
      for (const json& one : e.at("ran"))
        if (one.contains("last_seq"))
          CHECK(one.at("last_seq").get<std::uint64_t>() + 1 == one.at("calls"));
    for (const json& e : job.events(rank, "conn.close")) {
      INFO(e.dump());
      CHECK(e.contains("how") == (e.at("started") > 0));
    }
  }
}
