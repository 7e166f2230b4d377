// Eight ranks, of which one is missing from a collective: those that wait for it say whom they wait
// for and in what.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "job/profiled.h"
#include "log/box.h"

using namespace softcuda;
using nlohmann::json;
using nnd::test::failures;
using nnd::test::how;
using nnd::test::ProfiledJob;
using Kind = Action::Kind;

namespace {

constexpr int kMissing = 5;
constexpr std::uint64_t kBytes = 1000000;

struct Waits : ProfiledJob {
  Waits() : ProfiledJob(4) {
    spec.environment["NCCL_ALGO"] = "Ring";
    spec.environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
    spec.actions = {{.kind = Kind::kCreate},
                    {.kind = Kind::kCollective, .bytes = kBytes, .iterations = 3},
                    {.kind = Kind::kMeet}};
  }
  void others_reduce(int times = 1) {
    for (int rank = 0; rank < spec.ranks(); ++rank)
      if (rank != kMissing)
        spec.actions.push_back({.kind = Kind::kCollective,
                                .bytes = kBytes,
                                .iterations = times,
                                .in_a_row = true,
                                .only_rank = rank});
  }

  bool many = false;  // it may be any of many

  // What the others say of the missing one, as a stall or a failure.
  std::map<int, json> told() const {
    std::map<int, json> by_rank;
    for (int rank = 0; rank < spec.ranks(); ++rank) {
      if (rank == kMissing) continue;
      for (const char* const name : {"conn.stall", "conn.fail"})
        for (const json& e : events(rank, name))
          if (e.contains("peer") && e.at("peer").value("rank", -1) == kMissing) by_rank[rank] = e;
    }
    return by_rank;
  }
  std::filesystem::path box_file(int rank) const {
    return dir() / ("rank" + std::to_string(rank) + ".nndbox");
  }
  nnd::log::BoxContents box(int rank) const {
    std::ifstream file(box_file(rank), std::ios::binary);
    return nnd::log::read_box(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  // least: both neighbours of the ring, or at least the one that receives from it. The other may
  // have sent all that it has into receives that the missing one had posted before.
  void run_until_told(std::size_t least, const std::function<void()>& meanwhile = {}) {
    run([&] {
      const bool enough = told().size() >= least;
      if (meanwhile) meanwhile();
      return enough;
    });
    const auto lines = told();
    CHECK(lines.size() >= least);
    for (const auto& [rank, e] : lines) {
      INFO(e.dump());
      CHECK(e.at("rank") == rank);
      CHECK(e.at("how") == how());
      CHECK(e.at("cause").get<std::string>().find("-") != std::string::npos);
      if (e.at("ev") != "conn.stall") continue;
      CHECK(e.at("cause") == "HANG-DATA");
      // The emulated HCA of a process that is stopped acknowledges nothing.
      if (e.at("kind") != "stuck-send") CHECK(e.at("sev") == "info");
      REQUIRE(e.contains("task"));
      CHECK(e.at("task").at("kind") == "AllReduce");
      const auto seq = e.at("task").at("seq").get<int>();
      CHECK((seq == 3 || many));
      CHECK(e.at("task").at("bytes") == kBytes);
      CHECK(e.at("msg").get<std::string>().starts_with(
          "rank " + std::to_string(rank) + " waits for rank " + std::to_string(kMissing) +
          " in AllReduce #" + std::to_string(seq) + " of communicator " +
          e.at("comm").get<std::string>()));
    }
  }
};

}  // namespace

TEST_CASE("a rank that does not call is named by its neighbours, and says what it had last",
          "[waits]") {
  Waits job;
  job.others_reduce();
  job.spec.actions.push_back({.kind = Kind::kMeet});
  bool idle = false;
  job.run([&] {
    for (const json& e : job.events(kMissing, "conn.stall")) idle = idle || e.at("kind") == "idle";
    return idle && job.told().size() == 2;
  });
  REQUIRE(job.told().size() == 2);
  job.check_logs();
  for (const json& e : job.events(kMissing, "conn.stall")) {
    if (e.at("kind") != "idle") continue;
    INFO(e.dump());
    REQUIRE(e.at("communicators").size() == 1);
    const json& last = e.at("communicators").at(0);
    CHECK(last.at("rank") == kMissing);
    CHECK(last.at("task").at("kind") == "AllReduce");
    CHECK(last.at("task").at("seq") == 2);
    CHECK(last.at("task").at("ops") == last.at("task").at("ops_done"));
    CHECK(e.at("msg").get<std::string>().find("the last that it was given to do is AllReduce #2") !=
          std::string::npos);
  }
}

TEST_CASE("a program that runs ahead waits in the first that hangs, by its lines and its box",
          "[waits]") {
  constexpr int kAhead = 100;
  Waits job;
  for (int rank = 0; rank < job.spec.ranks(); ++rank)
    job.spec.rank_environment[rank]["NCCL_NET_DIAG_BLACKBOX"] = job.box_file(rank).string();
  job.others_reduce(kAhead);
  job.spec.actions.push_back({.kind = Kind::kMeet});
  std::size_t inside = 0;
  job.run_until_told(2, [&] {
    if (inside != 0 || job.told().size() < 2) return;
    for (int rank = 0; rank < job.spec.ranks(); ++rank)
      for (const auto& comm : job.box(rank).comms) {
        REQUIRE(comm.collectives == (comm.rank == kMissing ? 3 : 3 + kAhead));
        const auto oldest = std::find_if(
            std::rbegin(comm.last_collectives), std::rend(comm.last_collectives),
            [](const auto& task) { return task.func[0] != 0 && task.ops != task.ops_done; });
        if (oldest == std::rend(comm.last_collectives)) continue;
        ++inside;
        CHECK(oldest->ordinal == 4);
        CHECK(oldest->seq == 3);
        CHECK(oldest->bytes == kBytes);
      }
  });
  CHECK(inside >= 2);
}

TEST_CASE("a rank that calls another collective is named by its neighbours", "[waits]") {
  Waits job;
  job.others_reduce();
  job.spec.actions.push_back({.kind = Kind::kCollective,
                              .collective = Collective::kAllGather,
                              .bytes = kBytes / 8,
                              .wait = false,
                              .only_rank = kMissing});
  job.spec.actions.push_back({.kind = Kind::kMeet});
  job.run_until_told(1);
}

TEST_CASE("a rank that is stopped is named by its neighbours", "[waits]") {
  Waits job;
  job.many = true;
  job.spec.actions.push_back({.kind = Kind::kCollective, .bytes = kBytes, .iterations = 100000});
  bool stopped = false;
  job.run_until_told(1, [&] {
    // All are in the middle of it.
    const auto ready = job.events(kMissing, "conn.who");
    if (stopped || ready.empty()) return;
    stopped = true;
    ::kill(ready.front().at("pid").get<int>(), SIGSTOP);
  });
}

TEST_CASE("a rank that died is named by its neighbours", "[waits]") {
  Waits job;
  job.spec.grace_sec = 60;
  job.spec.actions.push_back({.kind = Kind::kDie, .only_rank = kMissing});
  job.others_reduce();
  job.run_until_told(2);
  for (const auto& [rank, e] : job.told()) {
    INFO(e.dump());
    if (e.at("ev") == "conn.stall") CHECK(e.at("peer_tcp") == "closed");
  }
}
