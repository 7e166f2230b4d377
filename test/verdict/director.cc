#include "verdict/director.h"

#include <signal.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "softverbs/control.h"
#include "softverbs/fault_moments.h"

namespace nnd::verdict {

namespace {

// Until a hang is taken for one: the watch tells of a stall after two seconds, of a communicator
// that is being made after ten, and of who has not come once the others have had five more to tell;
// a process counts as stopped after five without a sign of life, and as one that asks the network
// for nothing after twelve.
constexpr double kBeforeConnectionsSec = 17, kIdleSec = 13;
// torchelastic gives who doesn't heed SIGTERM 30 s: longer than it takes to heed it.
constexpr double kElasticGrace = 4;

std::uint64_t ns(std::chrono::steady_clock::time_point at) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

double patience_of(const Case& one) {
  if (one.truth.healthy) return 0.5;
  const bool before =
      one.moment == Moment::kBeforeInit || (one.moment == Moment::kBeforeConnection &&
                                            (one.fault == "idle rank" || one.fault == "SIGSTOP"));
  if (before) return kBeforeConnectionsSec;
  if (one.fault == "SIGSTOP") return 8;
  if (one.fault == "missing rank" && one.ending == Ending::kLive) return kIdleSec;
  if (one.fault == "slow rail") return kBeforeConnectionsSec;  // nothing hangs: the machine is busy
  return 4.5;
}

}  // namespace

Director::Director(const Case& one, std::filesystem::path fabric, const std::filesystem::path& logs,
                   Moments& moments, std::function<void()> look)
    : case_(one),
      fabric_(std::move(fabric)),
      moments_(moments),
      look_(std::move(look)),
      progress_(logs),
      dice_(one.seed ^ 0x6a7564),
      patience_(patience_of(one) + dice_.between(0, 20) / 10.0) {}

void Director::hear(const nlohmann::json& event) {
  const std::string what = event.at("event");
  const int rank = event.at("rank");
  last_ = Clock::now();
  if (what == "started") {
    pids_[rank] = event.at("pid");
    return;
  }
  if (what == "done") done_.insert(rank);
  if (what == "ended") {
    ended_.insert(rank);
    moments_.ended_ns.try_emplace(rank, ns(last_));
  }
  if (what == "error" || (what == "ended" && !done_.contains(rank)))
    failed_ = failed_.value_or(last_);
  ++told_[rank];
}

double Director::between(double low, double high) {
  return low + (high - low) * dice_.below(1001) / 1000;
}

std::set<int> Director::alive() const {
  std::set<int> out;
  for (const auto& [rank, pid] : pids_)
    if (!ended_.contains(rank)) out.insert(rank);
  return out;
}

// Whether the rank has come to where the case's fault is.
bool Director::struck() const {
  const auto come = [&](int rank, int events) {
    const auto told = told_.find(rank);
    return ended_.contains(rank) || (told != told_.end() && told->second >= events);
  };
  if (!met_) return false;
  if (case_.culprit) return come(*case_.culprit, case_.culprit_events);
  for (int rank = 0; rank < case_.ranks(); ++rank)
    if (!come(rank, case_.truth.healthy || case_.node_lost ? case_.culprit_events : 1))
      return false;
  return true;
}

bool Director::quiet(double seconds) const {
  return Clock::now() - last_ >= std::chrono::duration<double>(seconds);
}

// A watchdog ends a process whose collective takes too long: not one that sleeps in its program.
bool Director::waits(int rank) const {
  return !case_.culprit || rank != *case_.culprit || case_.fault == "mismatched";
}

// NCCL may compute for seconds between a communicator's first word and its first connection.
double Director::patience() const {
  const bool computes = !case_.truth.healthy && !case_.culprit && !progress_.connects();
  return computes ? std::max(patience_, kBeforeConnectionsSec) : patience_;
}

void Director::plan(int rank, int signal, double in_seconds) {
  deeds_.push_back({Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(in_seconds)),
                    rank, signal});
}

void Director::plan_all(int signal, double in_seconds) {
  for (const auto& [rank, pid] : pids_) plan(rank, signal, in_seconds);
}

void Director::end_all(double in_seconds, double grace) {
  plan_all(SIGTERM, in_seconds);
  grace_ = grace;
  planned_ = true;
}

void Director::lose_node() {
  softverbs::Control(fabric_).set_lost(case_.fabric.hosts[static_cast<std::size_t>(case_.lost)],
                                       true);
  for (const auto& [rank, pid] : pids_)
    if (case_.node_of(rank) == case_.lost) plan(rank, SIGKILL, 0);
  lost_ = true;
}

void Director::decide() {
  if (!struck()) return;
  const bool hangs = quiet(patience());
  switch (case_.ending) {
    case Ending::kLive:
      return;
    case Ending::kByItself:
      // After all, it doesn't. A healthy one does, however slow the machine is.
      if (!case_.truth.healthy && quiet(patience() + 3)) end_all(0, 1);
      return;
    case Ending::kWatchdog: {
      if (!hangs) return;
      const double spread = between(0, 4);
      for (const int rank : alive())
        if (waits(rank)) plan(rank, SIGABRT, between(0, spread));
      end_all(spread + between(0.2, 1.5), 1);
      return;
    }
    case Ending::kElastic:
      if (failed_) {
        end_all(between(0.1, 1), kElasticGrace);
      } else if (hangs) {  // a watchdog comes first
        const auto all = alive();
        const auto one = std::find_if(all.begin(), all.end(), [&](int r) { return waits(r); });
        if (one != all.end()) plan(*one, SIGABRT, 0);
        last_ = Clock::now();
      }
      return;
    case Ending::kMpirun:
      if (failed_ || hangs) end_all(between(0.01, 0.15), 1);
      return;
    case Ending::kCancelled:
      if (hangs) end_all(between(0, 2), 1);
      return;
    case Ending::kTimeLimit:
      if (hangs) {
        plan_all(SIGKILL, between(0, 1));
        planned_ = true;
      }
      return;
  }
}

// A fault of the fabric may come long after the ranks' last word.
void Director::look_for_fault() {
  if (met_) return;
  met_ = case_.truth.healthy || case_.fabric.faults.empty() ||
         !softverbs::fault_moments(fabric_).empty();
  if (met_) last_ = Clock::now();
}

// Ranks say little of themselves while they connect, which takes long where the machine is busy.
void Director::look_for_progress() {
  if (Clock::now() - read_logs_ < std::chrono::milliseconds(300)) return;
  read_logs_ = Clock::now();
  if (progress_.made()) last_ = read_logs_;
}

void Director::do_deed(const Deed& deed) {
  if (ended_.contains(deed.rank)) return;
  const bool is_fault = case_.node_lost && case_.node_of(deed.rank) == case_.lost;
  if (!is_fault) moments_.asked_ns.try_emplace(deed.rank, ns(Clock::now()));
  ::kill(pids_.at(deed.rank), deed.signal);
  // However late that was on a busy machine.
  if (deed.signal == SIGTERM) plan(deed.rank, SIGKILL, grace_);
}

bool Director::step() {
  look_for_fault();
  look_for_progress();
  if (moments_.effect_ns == Moments::kNever && struck()) moments_.effect_ns = ns(Clock::now());
  if (case_.node_lost && !lost_ && struck()) lose_node();
  if (case_.ending == Ending::kLive && struck() && quiet(patience())) {
    moments_.over_ns = ns(Clock::now());
    look_();
    return true;
  }
  if (!planned_) decide();
  const auto later = std::stable_partition(
      deeds_.begin(), deeds_.end(), [now = Clock::now()](auto& deed) { return deed.at > now; });
  const std::vector<Deed> due(later, deeds_.end());
  deeds_.erase(later, deeds_.end());
  for (const Deed& deed : due) do_deed(deed);
  return false;
}

}  // namespace nnd::verdict
