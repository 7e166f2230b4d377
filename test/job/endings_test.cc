// Ranks that end by themselves while others need them, whatever then ends the others: the one that
// began is named, the network isn't, and the same job without it is silent.
#include "job/endings.h"

#include "softverbs/control.h"

using namespace softcuda;
using nnd::report::Blame;
using nnd::report::Kind;
using nnd::test::check;
using nnd::test::EndingJob;
using nnd::test::Launcher;
using nnd::test::report_of;
using What = Action::Kind;

namespace {

struct Fault {
  const char* name;
  bool before_collectives;
  std::vector<Action> actions;
};

const Action kUnfinished{.kind = What::kCollective, .bytes = 40'000'000, .wait = false};
const Action kException{.kind = What::kExit, .status = 1};

const std::vector<Fault> kFaults{
    {"an exception between two collectives", false, {kException}},
    {"an exception before the first collective", true, {kException}},
    {"an exception in the middle of a collective", false, {kUnfinished, kException}},
    {"exit(0) before the last collective", false, {{.kind = What::kExit, .status = 0}}},
    {"a segmentation fault", false, {{.kind = What::kDie, .signal = SIGSEGV}}},
    {"a segmentation fault before the first collective",
     true,
     {{.kind = What::kDie, .signal = SIGSEGV}}},
    {"the OOM killer", false, {{.kind = What::kDie, .signal = SIGKILL}}},
    {"the OOM killer in the middle of a collective",
     false,
     {kUnfinished, {.kind = What::kDie, .signal = SIGKILL}}},
};

// Ranks that meet, and then `fault` of one.
std::vector<Action> program(int guilty, const Fault& fault) {
  std::vector<Action> out{{.kind = What::kCreate}};
  if (!fault.before_collectives) {
    out.push_back({.kind = What::kCollective, .bytes = 4'000'000});
    out.push_back({.kind = What::kMeet});
  }
  for (Action action : fault.actions) {
    action.only_rank = guilty;
    out.push_back(action);
  }
  out.push_back({.kind = What::kCollective, .bytes = 40'000'000, .iterations = 2});
  out.push_back({.kind = What::kDestroy});
  return out;
}

const Fault kNone{"none", false, {}};

void check_guilty(const EndingJob& job, int guilty) {
  check(report_of(job.logs()),
        {Kind::kLost, Blame::kNotNetwork, "not the network: " + job.named(guilty)});
}

}  // namespace

TEST_CASE("a rank that ends by itself", "[ends-itself]") {
  const auto at = GENERATE(range(std::size_t{0}, kFaults.size()));
  const int guilty = GENERATE(0, 1);
  DYNAMIC_SECTION(kFaults[at].name << ", rank " << guilty) {
    EndingJob job(1);
    job.give_up_soon();
    job.spec().grace_sec = 4;  // NCCL dials who is not there for a minute
    job.spec().actions = program(guilty, kFaults[at]);
    job.run();
    check_guilty(job, guilty);
  }
}

// In 2.18 the abort hangs, and nothing tells which process of the node it is that does.
TEST_CASE("a rank that aborts its communicator, of which its neighbour may fail first",
          "[ends-itself]") {
  const int guilty = 2, neighbour = 3;
  EndingJob job(2, Launcher::kMpirun);
  job.spec().heeds_sigterm = false;
  job.spec().actions = program(
      guilty, {"an abort", true, {{.kind = What::kAbort}, {.kind = What::kExit, .status = 1}}});
  job.run([&] {
    if (job.ended(guilty) || job.ended(neighbour) || job.anybody_waits_but(guilty)) job.end_all();
    return false;
  });
  if (nnd::test::nccl_version() < 22300)
    CHECK(report_of(job.logs()).blame != "network");
  else
    check_guilty(job, guilty);
}

// Torchrun asks, waits and kills; mpirun asks and kills; srun's step is killed.
TEST_CASE("a rank that ends by itself, and a launcher that ends the others", "[ends-launcher]") {
  const auto at = GENERATE(std::size_t{0}, std::size_t{2}, std::size_t{6});
  const auto launcher = GENERATE(Launcher::kTorchrun, Launcher::kSlurm, Launcher::kMpirun);
  const int guilty = launcher == Launcher::kSlurm ? 0 : 3;
  DYNAMIC_SECTION(kFaults[at].name << ", launcher " << static_cast<int>(launcher)) {
    EndingJob job(2, launcher);
    job.spec().heeds_sigterm = launcher == Launcher::kTorchrun;
    job.spec().actions = program(guilty, kFaults[at]);
    job.run([&] {
      if (job.outlived(guilty)) job.end_all();
      return false;
    });
    check_guilty(job, guilty);
  }
}

TEST_CASE("a node that is lost", "[ends-itself]") {
  const int lost = GENERATE(0, 1);
  EndingJob job(2);
  job.give_up_soon();
  job.spec().grace_sec = 4;  // old releases wait for ever
  job.spec().actions = program(-1, kNone);
  job.spec().actions[3].iterations = 1'000'000;
  bool gone = false;
  job.run([&] {
    if (gone || job.collectives(0) == 0 || job.collectives(2) == 0) return false;
    softverbs::Control(job.logs() / "fabric").set_lost(fmt::format("node{}", lost), true);
    for (const int gpu : {0, 1}) job.signal(2 * lost + gpu, SIGKILL);
    gone = true;
    return false;
  });
  REQUIRE(gone);
  check(report_of(job.logs()),
        {Kind::kLost, Blame::kNotNetwork,
         fmt::format("not the network: node{} with all its processes (", lost)});
}

TEST_CASE("the same job, in which nobody ends by himself", "[ends-itself]") {
  EndingJob job(1);
  job.spec().actions = program(-1, kNone);
  const auto result = job.run();
  REQUIRE(nnd::test::failures(result) == "");
  check(report_of(job.logs()), {Kind::kHealthy, Blame::kNone, "healthy: 2 processes"});
  check_silent(job, result);
}

TEST_CASE("a healthy job that is ended from outside", "[ends-outside]") {
  const auto launcher = GENERATE(Launcher::kTorchrun, Launcher::kSlurm, Launcher::kMpirun);
  const int signal = GENERATE(SIGTERM, SIGKILL);
  DYNAMIC_SECTION("launcher " << static_cast<int>(launcher) << ", signal " << signal) {
    EndingJob job(1, launcher);
    job.spec().heeds_sigterm = false;  // else each ends itself, when it gets round to it
    job.spec().actions = program(-1, kNone);
    job.spec().actions[3].iterations = 1'000'000;
    bool ended = false;
    const auto result = job.run([&] {
      if (ended || job.collectives(0) == 0 || job.collectives(1) == 0) return false;
      job.signal_all(signal);
      ended = true;
      return false;
    });
    REQUIRE(ended);
    check(report_of(job.logs()), {Kind::kEnded, Blame::kNotNetwork, ""});
    check_silent(job, result);
  }
}
