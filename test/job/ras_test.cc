// What NCCL's RAS answers of real jobs, saved to files and read by report.
#include "scoreboard/ras.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "foreign/evidence.h"
#include "foreign/ras_client.h"
#include "job/reported.h"
#include "report/others.h"
#include "support/catch.h"

using namespace softcuda;
using nnd::report::Ras;
using nnd::scoreboard::ask_ras;
using nnd::scoreboard::ras_host;
using What = Action::Kind;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kTwoNodes = R"(
[[host]]
count = 2
name = "node{h}"
[[host.hca]]
name = "mlx5_0"
netdev = "eth0"
address = "10.1.0.{h+1}/16"
[[host.gpu]]
count = 2
)";

// A job of four ranks, and the files of what its RAS answered.
struct Asked {
  Asked() : job(kTwoNodes, 2) {
    job.spec().environment["NCCL_RAS_ADDR"] =
        fmt::format("{}:{}", ras_host(), nnd::scoreboard::kRasPort);
    job.spec().environment["NCCL_RAS_ENABLE"] = "1";
  }
  // Adds a file, as `nc` leaves it.
  nnd::report::ForeignFindings ask() {
    constexpr std::chrono::seconds kPatience{15};
    files.push_back(dir.file(fmt::format("ras{}.json", files.size()),
                             ask_ras(ras_host(), "SET FORMAT json\nSTATUS\n", kPatience)));
    evidence = nnd::foreign::read_files(files, [] { return false; });
    return nnd::report::findings_of(evidence);
  }
  void forget() {
    std::filesystem::remove(files.back());
    files.pop_back();
  }

  nnd::test::ReportedJob job;
  nnd::test::TempDir dir;
  std::vector<std::string> files;
  nnd::foreign::Evidence evidence;
};

}  // namespace

TEST_CASE("ranks that have begun other collectives, for seconds", "[ras]") {
  Asked asked;
  auto& actions = asked.job.spec().actions;
  actions = {{.kind = What::kCreate},
             {.kind = What::kCollective, .bytes = 4000000, .iterations = 3},
             {.kind = What::kCollective, .bytes = 4000000, .only_rank = 2},
             {.kind = What::kMeet}};
  std::optional<Clock::time_point> apart;
  std::optional<nnd::report::ForeignFindings> last;
  nnd::foreign::RasClient client(asked.job.spec().environment.at("NCCL_RAS_ADDR"));
  const auto heard = [&] { return client.look() || !client.answers().empty(); };
  asked.job.job().run([&] {
    if (apart && (!heard() || Clock::now() < *apart + std::chrono::seconds(6))) return false;
    auto others = asked.ask();
    if (!apart && (!others.ras || others.ras->begun != 4)) {
      asked.forget();
      return false;
    }
    if (apart) {
      last = std::move(others);
      return true;
    }
    CHECK_FALSE(others.found());  // one look shows no hang
    apart = Clock::now();
    return false;
  });
  REQUIRE(last);
  REQUIRE(client.answers().back().communicators.size() == 1);
  CHECK(client.answers().back().communicators[0].hash == last->ras->of->hash);
  CHECK(last->ras_first);
  CHECK(last->kind == nnd::report::Kind::kHang);
  CHECK(last->blame == nnd::report::Blame::kOpen);
  const Ras& ras = *last->ras;
  CHECK(ras.kind == Ras::Kind::kApart);
  REQUIRE(ras.ranks.size() == 1);
  CHECK(ras.ranks[0]->rank == 2);
  CHECK(ras.ranks[0]->pid == asked.job.pid_of(2));
  CHECK(ras.collective == "AllReduce");
  CHECK(ras.begun == 4);
  CHECK(ras.by_others == 3);
  CHECK(ras.others == 3);
  CHECK(ras.stood_sec >= 5);
  CHECK(ras.of->size == 4);
  // The hash by which the plugin's events call it, too.
  CHECK(asked.job.job().events(0, "comm.init").front().at("comm") == ras.of->hash);
}

TEST_CASE("a rank that does not answer RAS", "[ras]") {
  Asked asked;
  asked.job.spec().actions = {{.kind = What::kCreate},
                              {.kind = What::kCollective, .bytes = 4000000},
                              {.kind = What::kMeet},
                              {.kind = What::kCompute, .ms = 60000},
                              {.kind = What::kCollective, .bytes = 4000000}};
  pid_t stopped = 0;
  std::optional<nnd::report::ForeignFindings> last;
  asked.job.job().run([&] {
    auto others = asked.ask();
    const bool all = !asked.evidence.ras.empty() && !asked.evidence.ras[0].communicators.empty() &&
                     asked.evidence.ras[0].communicators[0].ranks.size() == 4;
    if (stopped == 0) {
      if (all) {
        CHECK_FALSE(others.ras);  // all is well
        kill(stopped = asked.job.pid_of(3), SIGSTOP);
      } else {
        asked.forget();
      }
      return false;
    }
    if (!others.ras) return false;  // until its deadline
    last = std::move(others);
    kill(stopped, SIGCONT);
    return true;
  });
  REQUIRE(last);
  CHECK(last->ras_first);
  CHECK(last->blame == nnd::report::Blame::kOpen);
  REQUIRE(last->ras);
  CHECK(last->ras->kind == Ras::Kind::kUnanswered);
  REQUIRE(last->ras->gone.size() == 1);
  CHECK(last->ras->gone[0]->rank == 3);
  CHECK(last->ras->gone[0]->pid == stopped);
}
