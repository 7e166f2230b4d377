// Faults of processes and programs: the network is innocent.
#include <fmt/format.h>

#include <csignal>

#include "verdict/faults.h"

namespace nnd::verdict {

using softcuda::Action;
using softcuda::Collective;
using Kind = Action::Kind;

namespace {

constexpr int kForEverMs = 600'000;

const std::vector<std::string> kEnded{"ended by itself", "exit", "left", "closed", "ended", "gone"};
const std::vector<std::string> kDied{"died",  "killed", "signal",     "SIG",
                                     "ended", "gone",   "disappeared"};
const std::vector<std::string> kIdle{"asked the network for nothing",
                                     "idle",
                                     "behind",
                                     "no further",
                                     "not in",
                                     "never entered",
                                     "not come",
                                     "has not"};
const std::vector<std::string> kAbsent{"no log",  "missing", "never",   "not come", "did not",
                                       "has not", "absent",  "no sign", "started"};

std::string who(const Case& one, int rank) {
  return fmt::format("rank {} ({})", rank,
                     one.fabric.hosts[static_cast<std::size_t>(one.node_of(rank))]);
}

// Whether this release tells what is called, by the profiler layer (docs/profiler.md).
bool tells_calls(const Case& one) { return std::stoi(one.nccl.substr(2)) >= 23; }

// Before NCCL is used there is nothing of the rank in the logs.
void no_trace(Case& one) {
  one.truth.no_log = one.moment == Moment::kBeforeInit;
  if (one.truth.no_log) one.truth.says.insert(one.truth.says.end(), kAbsent.begin(), kAbsent.end());
}

void ends(Case& one, Dice& dice, const Action& how, const std::string& what,
          const std::vector<std::string>& says) {
  const int guilty = dice.below(one.ranks());
  // Rank 0 makes the communicator's identity: without it nobody comes as far as NCCL.
  if (one.moment == Moment::kBeforeInit && guilty == 0) one.moment = Moment::kBeforeConnection;
  one.truth.ranks = {guilty};
  one.truth.nodes = {one.node_of(guilty)};
  one.truth.words = fmt::format("{} {} {}", who(one, guilty), what, name_of(one.moment));
  one.truth.says = says;
  one.truth.silent = how.kind == Kind::kDie;
  compose(one, draw_program(dice), guilty, {how});
  no_trace(one);
}

void exit_0(Case& one, Dice& dice) {
  ends(one, dice, {.kind = Kind::kExit, .status = 0}, "calls exit(0)", kEnded);
}
void exit_1(Case& one, Dice& dice) {
  ends(one, dice, {.kind = Kind::kExit, .status = 1}, "calls exit(1)", kEnded);
}
// The framework aborts the communicator on its way out.
void exception(Case& one, Dice& dice) {
  if (one.moment == Moment::kBeforeInit) one.moment = Moment::kEarly;
  const int guilty = dice.below(one.ranks());
  one.truth.ranks = {guilty};
  one.truth.nodes = {one.node_of(guilty)};
  one.truth.words = fmt::format("{} has an exception, aborts its communicator and exits {}",
                                who(one, guilty), name_of(one.moment));
  one.truth.says = kEnded;
  one.truth.says_if_not = kIdle;  // NCCL's abort waits for its own threads, and may hang
  if (one.moment == Moment::kMidCollective) one.moment = Moment::kLate;
  compose(one, draw_program(dice), guilty,
          {{.kind = Kind::kAbort}, {.kind = Kind::kExit, .status = 1}});
}
void segfault(Case& one, Dice& dice) {
  ends(one, dice, {.kind = Kind::kDie, .signal = SIGSEGV}, "has a segmentation fault", kDied);
}
void aborts(Case& one, Dice& dice) {
  ends(one, dice, {.kind = Kind::kDie, .signal = SIGABRT}, "calls abort()", kDied);
}
void killed(Case& one, Dice& dice) {
  ends(one, dice, {.kind = Kind::kDie, .signal = SIGKILL}, "gets SIGKILL (OOM killer)", kDied);
}

void stopped(Case& one, Dice& dice) {
  if (one.moment == Moment::kBeforeInit || one.moment == Moment::kMidCollective)
    one.moment = Moment::kEarly;  // a stopped process's emulated HCA stops with it
  const int guilty = dice.below(one.ranks());
  one.truth.ranks = {guilty};
  one.truth.nodes = {one.node_of(guilty)};
  one.truth.words = fmt::format("{} gets SIGSTOP {}", who(one, guilty), name_of(one.moment));
  one.truth.says = {"not run", "stopped", "no sign of life", "silent"};
  one.environment["NCCL_IB_TIMEOUT"] = "22";
  compose(one, draw_program(dice), guilty, {{.kind = Kind::kDie, .signal = SIGSTOP}});
}

void idle(Case& one, Dice& dice) {
  if (one.moment == Moment::kMidCollective) one.moment = Moment::kLate;
  const int guilty = one.moment == Moment::kBeforeInit ? dice.between(1, one.ranks() - 1)
                                                       : dice.below(one.ranks());
  one.truth.ranks = {guilty};
  one.truth.nodes = {one.node_of(guilty)};
  one.truth.words =
      fmt::format("{} sleeps {} (its data loader is stuck)", who(one, guilty), name_of(one.moment));
  one.truth.says = kIdle;
  compose(one, draw_program(dice), guilty, {{.kind = Kind::kCompute, .ms = kForEverMs}});
  no_trace(one);
}

// One rank leaves a collective out and is done with its program, but for its end.
void missing(Case& one, Dice& dice) {
  one.moment = dice.percent(50) ? Moment::kEarly : Moment::kLate;
  const int guilty = dice.below(one.ranks());
  one.truth.ranks = {guilty};
  one.truth.nodes = {one.node_of(guilty)};
  one.truth.words =
      fmt::format("{} leaves a collective out and waits at the end", who(one, guilty));
  one.truth.says = kIdle;
  // NCCL buffers what is small: then all meet, and only the end waits for what is not taken.
  one.truth.says_if_done = kEnded;
  compose(one, draw_program(dice), guilty, {{.kind = Kind::kMeet}});
}

void mismatched(Case& one, Dice& dice) {
  one.moment = dice.percent(50) ? Moment::kEarly : Moment::kLate;
  const int guilty = dice.below(one.ranks());
  one.truth.ranks = {guilty};
  if (one.ranks() == 2) one.truth.ranks = {0, 1};  // nobody can say which is right
  one.truth.nodes = {one.node_of(guilty)};
  one.truth.words = fmt::format("{} is in another collective", who(one, guilty));
  one.truth.both_named = true;
  one.truth.says_if_done = kEnded;  // its data were wrong: it waited for nobody
  one.truth.says = {"mismatch", "another collective", "different collective"};
  // Without calls, whoever waits beside the network looks like one that doesn't wait at all.
  one.truth.untold = !tells_calls(one);
  if (one.truth.untold) one.truth.says.insert(one.truth.says.end(), kIdle.begin(), kIdle.end());
  Program program = draw_program(dice);
  program.first.collective = program.body.collective = program.last.collective =
      Collective::kAllReduce;
  program.body.bytes = program.last.bytes = 4'000'000;
  const Action other{
      .kind = Kind::kCollective,
      .collective = dice.percent(50) ? Collective::kReduceScatter : Collective::kAllGather,
      .bytes = 100'000};
  compose(one, program, guilty, {other, {.kind = Kind::kMeet}});
}

void node_lost(Case& one, Dice& dice) {
  one.lost = dice.below(one.nodes);
  one.node_lost = true;
  if (one.moment == Moment::kBeforeInit) one.moment = Moment::kEarly;
  one.truth.nodes = {one.lost};
  one.truth.words = fmt::format("{} is lost with all its processes",
                                one.fabric.hosts[static_cast<std::size_t>(one.lost)]);
  one.truth.says = kDied;
  one.truth.silent = true;
  one.truth.may_be_harmless = true;  // it may be done by then
  compose(one, draw_program(dice), -1, {});
}

}  // namespace

std::vector<Fault> program_faults() {
  return {{"exit(0)", 5, exit_0},        {"exit(1)", 6, exit_1},     {"exception", 5, exception},
          {"segfault", 4, segfault},     {"abort", 4, aborts},       {"SIGKILL", 6, killed},
          {"SIGSTOP", 5, stopped},       {"idle rank", 7, idle},     {"missing rank", 5, missing},
          {"mismatched", 5, mismatched}, {"node lost", 4, node_lost}};
}

}  // namespace nnd::verdict
