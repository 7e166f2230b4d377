// Jobs that hang: what is said of them while they do, and that whoever ends them, in whatever
// order, changes nothing of it. And a rank that never came, and a restart into what the failed one
// left.
#include <algorithm>
#include <fstream>
#include <optional>

#include "job/endings.h"

using namespace softcuda;
using nnd::report::Blame;
using nnd::report::Kind;
using nnd::test::check;
using nnd::test::EndingJob;
using nnd::test::Expected;
using nnd::test::Heard;
using nnd::test::Launcher;
using nnd::test::report_of;
using What = Action::Kind;

namespace {

constexpr int kForEverMs = 600'000;

// Its data loader is stuck, say.
std::vector<Action> idle_rank(int guilty) {
  return {{.kind = What::kCreate},
          {.kind = What::kCollective, .bytes = 4'000'000, .iterations = 3},
          {.kind = What::kCompute, .ms = kForEverMs, .only_rank = guilty},
          {.kind = What::kCollective, .bytes = 4'000'000}};
}

// PyTorch's watchdogs: each ends its process after the time that its own collective has waited.
class Watchdogs {
 public:
  Watchdogs(const EndingJob& job, int spared) : job_(job), spared_(spared) {}

  // Whether all have bitten, of those whose process waits.
  bool bite() {
    const auto now = EndingJob::Clock::now();
    while (now >= due_ && next_ < job_.ranks()) {
      if (next_ != spared_) job_.signal(next_, SIGABRT);
      if (next_++ != spared_) due_ = now + std::chrono::milliseconds(300);
    }
    return next_ == job_.ranks() && now >= due_;
  }

 private:
  const EndingJob& job_;
  int spared_, next_ = 0;
  EndingJob::Clock::time_point due_{};
};

enum class EndedBy { kWatchdogs, kLauncher, kTimeLimit };

struct Way {
  const char* name;
  EndedBy by;
  Launcher launcher;
  bool heeds_sigterm;
};

const std::vector<Way> kWays{
    {"watchdogs, then torchrun", EndedBy::kWatchdogs, Launcher::kTorchrun, true},
    {"watchdogs, then srun", EndedBy::kWatchdogs, Launcher::kSlurm, false},
    {"torchrun", EndedBy::kLauncher, Launcher::kTorchrun, true},
    {"scancel", EndedBy::kLauncher, Launcher::kSlurm, false},
    {"mpirun", EndedBy::kLauncher, Launcher::kMpirun, false},
    {"a time limit", EndedBy::kTimeLimit, Launcher::kSlurm, false},
};

void run_until_ended(EndingJob& job, const Way& way, int guilty, const Expected& expected) {
  Watchdogs watchdogs(job, guilty);
  bool looked = false;
  job.run([&] {
    if (!looked && job.anybody_waits_but(guilty) && job.told(guilty, "idle")) {
      check(report_of(job.logs()), expected);
      looked = true;
    }
    if (!looked) return false;
    if (way.by == EndedBy::kTimeLimit)
      job.signal_all(SIGKILL);
    else if (way.by == EndedBy::kLauncher || watchdogs.bite())
      job.end_all();
    return false;
  });
  REQUIRE(looked);
  check(report_of(job.logs()), expected);
}

// Who has no log is known from what the launcher told the others.
std::vector<Action> never_comes(int guilty, int ranks) {
  std::vector<Action> out;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank == guilty)
      out.push_back({.kind = What::kExit, .status = 1, .only_rank = rank});
    else
      out.push_back({.kind = What::kCreate, .only_rank = rank});
  return out;
}

std::vector<std::string> files_of(const std::filesystem::path& dir) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("a hang, looked at live and after its end", "[ends-hang]") {
  const auto at = GENERATE(range(std::size_t{0}, kWays.size()));
  const Way& way = kWays[at];
  const int guilty = static_cast<int>(at % 4);  // each once at least
  DYNAMIC_SECTION(way.name << ", rank " << guilty) {
    EndingJob job(2, way.launcher);
    job.spec().heeds_sigterm = way.heeds_sigterm;
    job.spec().actions = idle_rank(guilty);
    run_until_ended(job, way, guilty,
                    {Kind::kHang, Blame::kNotNetwork, "not the network: " + job.named(guilty)});
  }
}

TEST_CASE("a rank that never came to NCCL", "[ends-missing]") {
  const auto launcher = GENERATE(Launcher::kTorchrun, Launcher::kSlurm, Launcher::kMpirun);
  const int guilty = launcher == Launcher::kSlurm ? 1 : 3;
  DYNAMIC_SECTION("launcher " << static_cast<int>(launcher) << ", rank " << guilty) {
    EndingJob job(2, launcher);
    job.spec().actions = never_comes(guilty, job.ranks());
    const Expected expected{Kind::kMissing, Blame::kOpen, "", fmt::format("rank {} of 4", guilty)};
    bool looked = false;
    job.run([&] {
      for (int rank = 0; rank < job.ranks(); ++rank)
        if (rank != guilty && job.job().events(rank, "node.facts").empty()) return false;
      if (!looked) check(report_of(job.logs()), expected);
      looked = true;
      job.end_all();
      return false;
    });
    REQUIRE(looked);
    check(report_of(job.logs()), expected);
  }
}

// NCCL ends such a job in some releases, and hangs in others.
TEST_CASE("one node over TCP and the other over RoCE, live and after its end", "[ends-apart]") {
  const int down = GENERATE(0, 1);
  std::string nodes;
  for (const int node : {0, 1})
    nodes += fmt::format(
        "[[host]]\nname = \"node{0}\"\n[[host.hca]]\ncount = 2\naddress = "
        "\"10.200.{{i}}.{0}/24\"\n{1}",
        node + 1, node == down ? "state = \"down\"\n" : "");
  EndingJob job(nodes, 1);
  job.spec().actions = {{.kind = What::kCreate}, {.kind = What::kCollective, .bytes = 4'000'000}};
  job.spec().linger_sec = nnd::test::kDeadlineSec;  // as a framework's process may
  std::optional<Heard> live;  // of a job that NCCL doesn't end before anybody looks
  job.run([&] {
    for (const int rank : {0, 1})
      if (job.job().events(rank, "node.facts").empty()) return false;
    live = report_of(job.logs());
    return live->line.find("INC-IBTCP") != std::string::npos;
  });
  const Heard after = report_of(job.logs());
  for (const Heard& heard : {live.value_or(after), after}) {
    INFO(heard.line);
    CHECK(heard.line.find("INC-IBTCP") != std::string::npos);
    CHECK(heard.line.find(fmt::format("node{}", down + 1)) != std::string::npos);
    CHECK(heard.blame == nnd::report::name_of(Blame::kNetwork));
    CHECK(heard.exit_code == 1);
  }
}

TEST_CASE("a restart into the directory of the failed one", "[ends-restart]") {
  const int guilty = GENERATE(0, 1);
  EndingJob job(1);
  const auto logs = job.logs() / "logs";
  job.spec().environment["NCCL_NET_DIAG_BLACKBOX"] = logs / "%h.%p.nndbox";
  for (int rank : {0, 1})
    job.spec().rank_environment[rank]["NCCL_NET_DIAG_FILE"] = logs / "%h.%p.jsonl";
  job.spec().actions = {{.kind = What::kCreate},
                        {.kind = What::kCollective, .bytes = 4'000'000},
                        {.kind = What::kMeet},
                        {.kind = What::kDie, .signal = SIGSEGV, .only_rank = guilty},
                        {.kind = What::kCollective, .bytes = 40'000'000},
                        {.kind = What::kDestroy}};
  job.run();
  const Expected failed{Kind::kLost, Blame::kNotNetwork, "not the network: " + job.named(guilty)};
  check(report_of(logs), failed);
  const auto left = files_of(logs);
  for (int rank : {0, 1}) job.spec().rank_environment[rank]["TORCHELASTIC_RESTART_COUNT"] = "1";
  std::erase_if(job.spec().actions, [](const Action& action) { return action.kind == What::kDie; });
  REQUIRE(nnd::test::failures(job.run()) == "");
  const auto now = files_of(logs);
  CHECK(std::includes(now.begin(), now.end(), left.begin(), left.end()));
  CHECK(now.size() == left.size() + 2);
  check(report_of(logs), failed);
}
