// Which of a job's runs is judged, and what is not here of it.
#include "report/runs.h"

#include "report/jobs.h"
#include "report/report.h"
#include "support/catch.h"
#include "unit/report/made.h"

using namespace nnd::report;
using nnd::report::test::leave;
using nnd::report::test::Made;
namespace t = nnd::report::test;

TEST_CASE("two releases of NCCL make no communicator", "[difference]") {
  const auto with = [](const std::string& other, bool connected, std::optional<int> status = {}) {
    Made made;
    for (const int rank : {0, 1}) {
      auto load = made.event(rank, t::EventId::kPluginLoad, 0);
      load.launch.rank = rank;
      load.launch.world_size = 2;
      load.nccl_version = rank == 0 ? "2.28.9" : other;
      made.add(load);
    }
    if (connected) made.connect(0, 1);
    for (const int rank : {0, 1}) leave(made, rank, 2, 0, status);
    return analyse(made.input);
  };
  for (const auto& two : {with("2.27.7", false), with("2.27.7", false, 1)}) {
    CHECK(two.kind == Kind::kLost);
    CHECK(two.blame == Blame::kNotNetwork);
    REQUIRE(two.difference);
    CHECK(two.difference->cause == "INC-VERSION");
  }
  for (const auto& fine : {with("2.28.9", false), with("2.27.7", true)}) {
    CHECK(fine.kind == Kind::kHealthy);
    CHECK(!fine.difference);
  }
}

TEST_CASE("ranks whose logs were not collected are not missing where all have met", "[missing]") {
  Made made;
  for (const int process : {0, 2}) made.load(process, 0, 4);
  made.connect(0, 2);
  made.connect(2, 0);
  made.stall(0, "nothing-came", 7, 2, 2);
  made.box(0, true, 39);
  made.box(2, true, 39);
  const auto report = analyse(made.input);
  CHECK(report.missing.any());
  CHECK(report.missing.came);
  CHECK(report.kind == Kind::kHang);
  CHECK(analyse(made.input, 4).kind == Kind::kMissing);  // somebody asks for them
}

TEST_CASE("incarnations of a job are told apart by the launcher's counts", "[runs]") {
  Made made;
  for (int i = 0; i < 4; ++i) {
    auto load = made.event(i, t::EventId::kPluginLoad, i < 2 ? 0 : 5);
    load.launch.job = "7";
    load.launch.requeues = i < 2 ? 0 : 1;
    made.add(load);
  }
  CHECK(runs_of(made.input.job).size() == 2);
}

TEST_CASE("the run to be judged is the one that failed last", "[runs]") {
  constexpr auto kFine = Outcome::kFine, kUnknown = Outcome::kUnknown, kFailed = Outcome::kFailed;
  constexpr Ns kMinute = 60'000'000'000;
  const auto run = [](const std::string& job, std::size_t incarnation, Ns first) {
    return JobRun{job, incarnation, 2, first, first + kMinute};
  };
  const std::vector<JobRun> jobs{run("7", 1, 0), run("7", 2, 2 * kMinute),
                                 run("7", 3, 4 * kMinute)};
  CHECK(job_to_judge(jobs, {kFine, kFine, kFine}) == 2);
  CHECK(job_to_judge(jobs, {kFailed, kFine, kFine}) == 0);
  CHECK(job_to_judge(jobs, {kFailed, kFailed, kFine}) == 1);
  CHECK(job_to_judge(jobs, {kFailed, kFine, kFailed}) == 2);
  CHECK(job_to_judge(jobs, {kFine, kUnknown, kFine}) == 1);  // killed, as it was started again
  CHECK(job_to_judge(jobs, {kFailed, kUnknown, kFine}) == 0);
  CHECK(job_to_judge(jobs, {kFine, kFine, kUnknown}) == 2);
  CHECK(job_to_judge({run("6", 1, 0), run("7", 1, 2 * kMinute)}, {kFailed, kFine}) == 1);
  CHECK(job_to_judge({run("7", 1, 0), run("7", 2, 99 * kMinute)}, {kFailed, kFine}) == 1);
}
