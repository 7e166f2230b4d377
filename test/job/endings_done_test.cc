// Jobs of which some ranks were done and left long before something else went wrong, and hangs that
// no connection tells of.
#include "job/endings.h"

using namespace softcuda;
using nnd::report::Blame;
using nnd::report::Kind;
using nnd::test::check;
using nnd::test::EndingJob;
using nnd::test::report_of;
using What = Action::Kind;

namespace {

// Two communicators of two ranks each, over both nodes: the odd ranks are done, and leave by
// exit(0).
std::vector<Action> half_done() {
  std::vector<Action> out{{.kind = What::kCreate},
                          {.kind = What::kSplit, .comm = 0, .made = 1, .parts = 2},
                          {.kind = What::kCollective, .bytes = 4'000'000},
                          {.kind = What::kCollective, .comm = 1, .bytes = 4'000'000},
                          {.kind = What::kMeet}};
  for (const int rank : {1, 3})
    out.push_back({.kind = What::kExit, .status = 0, .only_rank = rank});
  for (const int rank : {0, 2}) {
    out.push_back({.kind = What::kCompute, .ms = 3000, .only_rank = rank});
    out.push_back({.kind = What::kCollective, .comm = 1, .bytes = 4'000'000, .only_rank = rank});
  }
  return out;
}

}  // namespace

TEST_CASE("ranks that were done are not what the others end of", "[ends-done]") {
  EndingJob job(2);
  job.spec().actions = half_done();
  job.spec().heeds_sigterm = false;
  SECTION("a rank is killed") {
    job.spec().actions.push_back({.kind = What::kDie, .signal = SIGKILL, .only_rank = 2});
    job.spec().actions.push_back(
        {.kind = What::kCollective, .comm = 1, .bytes = 4'000'000, .only_rank = 0});
    job.run([&] {
      if (job.outlived(2)) job.end_all();
      return false;
    });
    check(report_of(job.logs()),
          {Kind::kLost, Blame::kNotNetwork, "not the network: " + job.named(2)});
  }
  SECTION("a rank hangs") {
    job.spec().actions.push_back({.kind = What::kCompute, .ms = 60'000, .only_rank = 2});
    job.spec().actions.push_back(
        {.kind = What::kCollective, .comm = 1, .bytes = 4'000'000, .only_rank = 0});
    job.run([&] {
      if (job.waits(0) && job.told(2, "idle")) job.end_all();
      return false;
    });
    check(report_of(job.logs()),
          {Kind::kHang, Blame::kNotNetwork, "not the network: " + job.named(2)});
  }
  SECTION("nothing is wrong") {
    for (const int rank : {0, 2})
      job.spec().actions.push_back({.kind = What::kCompute, .ms = 60'000, .only_rank = rank});
    job.run([&] {
      if (job.collectives(0) >= 3 && job.collectives(2) >= 3) job.end_all();
      return false;
    });
    const auto heard = report_of(job.logs());
    INFO(heard.line);
    CHECK(heard.kind == "ended");
    CHECK(heard.exit_code == 0);
  }
}

// NCCL's own sockets, whose connections tell nothing: the boxes show who has called less.
TEST_CASE("a hang over TCP is known by what the ranks have called", "[ends-done]") {
  const int guilty = 2;
  const bool hangs = GENERATE(true, false);
  DYNAMIC_SECTION("hangs: " << hangs) {
    EndingJob job(2);
    job.spec().environment["NCCL_IB_DISABLE"] = "1";
    job.spec().heeds_sigterm = false;
    auto& actions = job.spec().actions;
    actions = {{.kind = What::kCreate},
               {.kind = What::kCollective, .bytes = 4'000'000},
               {.kind = What::kMeet}};
    for (int rank = 0; rank < job.ranks(); ++rank)
      if (rank == guilty || !hangs)
        actions.push_back({.kind = What::kCompute, .ms = 60'000, .only_rank = rank});
    actions.push_back({.kind = What::kCollective, .bytes = 4'000'000});
    std::optional<EndingJob::Clock::time_point> met;
    job.run([&] {
      if (!met && job.collectives(0) >= 1 && job.collectives(guilty) >= 1)
        met = EndingJob::Clock::now();
      if (met && EndingJob::Clock::now() >= *met + std::chrono::seconds(14)) job.end_all();
      return false;
    });
    const auto heard = report_of(job.logs());
    if (hangs) {
      check(heard, {Kind::kHang, Blame::kNotNetwork, "not the network: " + job.named(guilty)});
    } else {
      INFO(heard.line);
      CHECK(heard.kind == "ended");
    }
  }
}
