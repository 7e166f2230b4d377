// A rank that takes its time before each collective, as one with more to compute than the others.
#include <algorithm>
#include <map>

#include "job/profiled.h"
#include "report/report.h"

using namespace softcuda;
using nnd::test::failures;
using nnd::test::ProfiledJob;
using Kind = Action::Kind;

namespace {

constexpr int kSlow = 5;
constexpr std::uint64_t kBytes = 1000000;

// How long each rank was waited for, in seconds; nobody says a word.
std::map<int, double> waited_for(const ProfiledJob& job) {
  std::map<int, double> out;
  for (int rank = 0; rank < job.spec.ranks(); ++rank)
    for (const auto& e : job.events(rank)) {
      INFO(e.dump());
      CHECK(e.at("sev") == "info");
      CHECK(e.at("ev") != "conn.stall");
      if (e.at("ev") == "conn.close" && e.at("dir") == "send" && e.contains("how"))
        out[e.at("peer").at("rank").get<int>()] += e.value("peer_wait_us", 0.0) / 1e6;
    }
  return out;
}

}  // namespace

TEST_CASE("a slow rank is the one that is waited for, and nothing is wrong", "[slow-rank]") {
  for (const bool slow : {true, false}) {
    ProfiledJob job(4);
    job.spec.environment["NCCL_ALGO"] = "Ring";
    auto& actions = job.spec.actions;
    actions = {{.kind = Kind::kCreate}, {.kind = Kind::kCollective, .bytes = kBytes}};
    for (int i = 0; i < 5; ++i) {
      if (slow) actions.push_back({.kind = Kind::kCompute, .ms = 1000, .only_rank = kSlow});
      actions.push_back({.kind = Kind::kCollective, .bytes = kBytes});
    }
    actions.push_back({.kind = Kind::kDestroy});
    REQUIRE(failures(job.run()) == "");
    const auto waited = waited_for(job);
    for (const auto& [rank, sec] : waited) UNSCOPED_INFO("rank " << rank << ": " << sec << " s");
    const auto input = nnd::report::read_input(nnd::report::files_of({job.dir().string()}));
    const auto report = nnd::report::analyse(input);
    CHECK(report.kind == nnd::report::Kind::kHealthy);
    // On a machine that is busy enough any rank may be late.
    for (const auto& late : report.late)
      CHECK(waited.at(report.picture.members[late.member].rank.value()) >= 1);
    if (!slow) continue;
    REQUIRE(waited.contains(kSlow));
    CHECK(waited.at(kSlow) > 1);  // of the five seconds that it took
    const auto most =
        std::max_element(waited.begin(), waited.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    CHECK(most->first == kSlow);
    const bool others_in_time = std::all_of(waited.begin(), waited.end(), [](const auto& one) {
      return one.first == kSlow || one.second < 0.25;
    });
    if (!others_in_time) continue;  // then it isn't told apart
    REQUIRE_FALSE(report.late.empty());
    CHECK(report.picture.members[report.late.front().member].rank == kSlow);
  }
}
