// NCCL_NET_DIAG_PEERS=on: while a real job hangs each rank's log names whom all wait for, and one
// log is enough for `report`; a healthy job says nothing.
#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "job/endings.h"

using namespace softcuda;
using nnd::test::check;
using nnd::test::EndingJob;
using nnd::test::report_of;
using What = Action::Kind;

namespace {

constexpr int kForEverMs = 600'000;

nlohmann::json last_word(EndingJob& job, int rank) {
  const auto events = job.job().events(rank, "job.stall");
  return events.empty() ? nlohmann::json() : events.back().at("awaited");
}

// That all others but the guilty one have told, and of what kind that rank is.
bool all_name(EndingJob& job, int guilty, const std::string& kind) {
  for (int rank = 0; rank < job.ranks(); ++rank) {
    if (rank == guilty) continue;
    const auto word = last_word(job, rank);
    if (word.is_null() || word.at("kind") != kind || word.value("rank", -1) != guilty) return false;
  }
  return true;
}

// Of one rank's log alone.
nnd::test::Heard report_of_one(EndingJob& job, int rank) {
  const auto alone = job.logs() / "alone";
  std::filesystem::create_directories(alone);
  for (const auto& entry : std::filesystem::directory_iterator(job.logs()))
    if (entry.path().filename().string().starts_with("rank" + std::to_string(rank) + "."))
      std::filesystem::copy(entry.path(), alone / entry.path().filename());
  const auto heard = report_of(alone);
  std::filesystem::remove_all(alone);
  return heard;
}

// The rank whom the black box of that one has, for `top`.
bool box_names(EndingJob& job, int rank, int guilty) {
  const auto box = nnd::report::read_box_file(job.logs() / fmt::format("rank{}.nndbox", rank));
  const auto& awaited = box.contents.header.awaited;
  return awaited.kind != 0 && awaited.rank == guilty;
}

// The conn.stall events from when its process knew.
bool stalls_name(EndingJob& job, int rank, int guilty) {
  for (const auto& stall : job.job().events(rank, "conn.stall"))
    if (stall.contains("awaited") && stall["awaited"].value("rank", -1) == guilty) return true;
  return false;
}

void hang(EndingJob& job, int guilty) {
  job.spec().environment["NCCL_NET_DIAG_PEERS"] = "on";
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4'000'000, .iterations = 3},
                        {.kind = What::kCompute, .ms = kForEverMs, .only_rank = guilty},
                        {.kind = What::kCollective, .bytes = 4'000'000}};
}

std::vector<Action> some_collectives() {
  return {{.kind = What::kCreate},
          {.kind = What::kCollective, .bytes = 4'000'000, .iterations = 20},
          {.kind = What::kDestroy}};
}

}  // namespace

TEST_CASE("each rank names the late one, then that it is stopped, then that it has ended",
          "[peers]") {
  const int gpus = GENERATE(1, 2);
  const int guilty = gpus == 1 ? 1 : 2;
  DYNAMIC_SECTION(gpus << " GPUs a node, rank " << guilty) {
    EndingJob job(gpus);
    hang(job, guilty);
    const std::vector<std::string> kinds{"idle", "stopped", "ended"};
    std::size_t at = 0;
    nnd::test::Heard one;
    job.run([&] {
      if (at < kinds.size() && all_name(job, guilty, kinds[at])) {
        if (at == 0) {
          if (!box_names(job, 0, guilty)) return false;  // its box is written a moment later
          one = report_of_one(job, 0);
          job.signal(guilty, SIGSTOP);
        } else if (at == 1) {
          job.signal(guilty, SIGKILL);
        }
        ++at;
      }
      if (at == kinds.size()) job.signal_all(SIGKILL);
      return false;
    });
    CHECK(at == kinds.size());
    CHECK(stalls_name(job, 0, guilty));
    INFO(one.line);
    CHECK(one.exit_code == 1);
    CHECK(one.blame == nnd::report::name_of(nnd::report::Blame::kNotNetwork));
    CHECK(one.line.find("rank " + std::to_string(guilty) + " (node1, pid ") != std::string::npos);
  }
}

TEST_CASE("two jobs that share their nodes hang, and each names its own late one", "[peers]") {
  std::array<EndingJob, 2> jobs{EndingJob(2), EndingJob(2)};
  std::atomic<int> named{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&named, &job = jobs.at(static_cast<std::size_t>(i)), late = 2 + i] {
        hang(job, late);
        bool done = false;
        job.run([&] {
          if (!done && all_name(job, late, "idle")) {
            done = true;
            ++named;
          }
          if (named == 2) job.signal_all(SIGKILL);
          return false;
        });
      });
  }
  CHECK(named == 2);
}

TEST_CASE("a rank whose variable differs is named before anything fails, and once", "[peers]") {
  EndingJob job(2);
  job.spec().environment["NCCL_NET_DIAG_PEERS"] = "on";
  job.spec().rank_environment[3]["NCCL_IB_TC"] = "106";
  job.spec().actions = some_collectives();
  CHECK(job.run().ok());
  std::size_t named = 0;
  for (int rank = 0; rank < job.ranks(); ++rank) {
    const auto events = job.job().events(rank, "peer.differs");
    CHECK(events.size() <= 1);
    for (const auto& event : events) {
      INFO(event.dump());
      CHECK(event.at("sev") == "warn");
      CHECK(event.at("cause") == "ROCE-TC");
      CHECK(event.at("rank") == rank);
      const auto& differs = event.at("differs");
      REQUIRE(differs.size() == 1);
      CHECK(differs[0].at("what") == "NCCL_IB_TC");
      CHECK(differs[0].at(rank == 3 ? "here" : "there") == "106");
      CHECK(differs[0].at(rank == 3 ? "there" : "here") == "0");
      const int peer = event.at("peer").at("rank");
      CHECK((rank == 3) != (peer == 3));
      const std::string host = "node" + std::to_string(peer / 2);
      CHECK(event.at("peer").at("host") == host);
      const std::string fix = event.at("fix"), msg = event.at("msg");
      CHECK(msg.find("rank " + std::to_string(peer) + " of " + host) != std::string::npos);
      CHECK(fix.find("NCCL_IB_TC") != std::string::npos);
      CHECK(job.job().events(rank, "conn.stall").empty());
      if (rank != 3) ++named;
    }
  }
  CHECK(named >= 1);
  CHECK(job.job().events(3, "peer.differs").size() == 1);
}

TEST_CASE("a job that hangs because two differ has said so before, and one log tells it",
          "[peers]") {
  EndingJob job(1);
  job.spec().environment["NCCL_NET_DIAG_PEERS"] = "on";
  job.spec().rank_environment[1]["NCCL_IB_QPS_PER_CONNECTION"] = "4";
  job.spec().actions = some_collectives();
  std::vector<nnd::test::Heard> of_one;
  job.run([&] {
    for (int rank = 0; rank < job.ranks(); ++rank)
      if (job.job().events(rank, "job.stall").empty()) return false;
    for (int rank = 0; rank < job.ranks(); ++rank) of_one.push_back(report_of_one(job, rank));
    job.signal_all(SIGKILL);
    return true;
  });
  REQUIRE(of_one.size() == 2);
  for (int rank = 0; rank < job.ranks(); ++rank) {
    const auto differs = job.job().events(rank, "peer.differs");
    REQUIRE(differs.size() == 1);
    CHECK(differs[0].at("cause") == "INC-QPS");
    CHECK(differs[0].at("peer").at("rank") == 1 - rank);
    CHECK(differs[0].at("seq") < job.job().events(rank, "conn.stall").at(0).at("seq"));
    INFO(of_one[static_cast<std::size_t>(rank)].line);
    CHECK(of_one[static_cast<std::size_t>(rank)].line.find("NCCL_IB_QPS_PER_CONNECTION") !=
          std::string::npos);
  }
}

TEST_CASE("ranks that have an HCA of their own each differ, and nothing follows", "[peers]") {
  EndingJob job(2);
  job.spec().environment["NCCL_NET_DIAG_PEERS"] = "on";
  for (int rank = 0; rank < job.ranks(); ++rank) {
    auto& own = job.spec().rank_environment[rank];
    own["NCCL_IB_HCA"] = rank % 2 == 0 ? "=mlx5_0" : "=mlx5_1";
    own["NCCL_IB_TIMEOUT"] = std::to_string(16 + rank);
  }
  job.spec().actions = some_collectives();
  CHECK(job.run().ok());
  for (int rank = 0; rank < job.ranks(); ++rank)
    for (const auto& event : job.job().events(rank, "peer.differs")) {
      INFO(event.dump());
      CHECK(event.at("sev") == "info");
      CHECK_FALSE(event.contains("cause"));
    }
}

TEST_CASE("a job that goes well says nothing of its peers", "[peers]") {
  EndingJob job(2);
  job.spec().environment["NCCL_NET_DIAG_PEERS"] = "on";
  job.spec().actions = some_collectives();
  const auto result = job.run();
  CHECK(result.ok());
  for (int rank = 0; rank < job.ranks(); ++rank) {
    CHECK(job.job().events(rank, "peer.differs").empty());
    for (const auto& event : job.job().events(rank, "job.stall")) {
      INFO(event.dump());
      CHECK(event.at("sev") == "info");
    }
  }
}

TEST_CASE("who comes last to the collectives of a job that runs is in each rank's summary",
          "[late]") {
  // Eight are compared in some 55 s. On a busy machine a collective takes a tenth of a second by
  // itself: what a rank is late by is several of these.
  constexpr int kSteps = 170, kComputeMs = 400;
  const int late = GENERATE(2, -1);  // -1: all compute for as long
  DYNAMIC_SECTION("rank " << late) {
    EndingJob job(2);
    job.spec().environment["NCCL_NET_DIAG_PEERS"] = "on";
    job.spec().environment["NCCL_NET_DIAG_STALL_SEC"] = "10";  // longer than a busy machine takes
    job.spec().deadline_sec = 400;
    job.spec().actions = {{.kind = What::kCreate}};
    for (int step = 0; step < kSteps; ++step) {
      job.spec().actions.push_back({.kind = What::kCompute,
                                    .ms = kComputeMs,
                                    .only_rank = late < 0 ? std::nullopt : std::optional(late)});
      job.spec().actions.push_back({.kind = What::kCollective, .bytes = 400'000});
    }
    job.spec().actions.push_back({.kind = What::kDestroy});
    CHECK(job.run().ok());
    for (int rank = 0; rank < job.ranks(); ++rank) {
      CHECK(job.job().events(rank, "job.stall").empty());
      const auto summaries = job.job().events(rank, "summary");
      REQUIRE(summaries.size() == 1);
      INFO("rank " << rank << ": " << summaries[0].dump());
      REQUIRE(summaries[0].contains("latecomer") == (late >= 0));
      if (late < 0) continue;
      const auto& named = summaries[0].at("latecomer");
      CHECK(named.at("rank") == late);
      CHECK(named.at("host") == "node1");
      CHECK(named.at("times") >= 8);
      CHECK(named.at("waited_us") >= kComputeMs * 500);
      CHECK(named.at("waited_us") <= kComputeMs * 10'000);
    }
    const auto report = report_of_one(job, 1);
    CHECK(report.exit_code == 0);
    CHECK(report.blame != nnd::report::name_of(nnd::report::Blame::kNetwork));
  }
}
