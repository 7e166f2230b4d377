#include "report/report.h"

#include <algorithm>
#include <array>
#include <future>

namespace nnd::report {

namespace {

// What a stall says, as a failure of the pair.
Failure pair_of(const Wait& wait) {
  Failure out;
  out.told = &wait.stall->told;
  out.member = wait.member;
  out.at = wait.since;
  out.reach = wait.stall->kind == "stuck-flush" || wait.stall->kind == "in-call" ? Reach::kLocal
                                                                                 : Reach::kPair;
  out.peer = wait.peer;
  out.here = wait.here;
  if (out.reach == Reach::kPair) out.there = wait.there;
  return out;
}

std::vector<Failure> pairs_of(const std::vector<Wait>& waits) {
  std::vector<Failure> out;
  for (const auto& wait : waits) out.push_back(pair_of(wait));
  return out;
}

bool all_are(const Picture& picture, std::initializer_list<Ending> endings) {
  return std::all_of(picture.members.begin(), picture.members.end(), [&](const Member& member) {
    return std::find(endings.begin(), endings.end(), member.ending) != endings.end();
  });
}

bool any_is(const Picture& picture, Ending ending) {
  return std::any_of(picture.members.begin(), picture.members.end(),
                     [&](const Member& member) { return member.ending == ending; });
}

bool any_degraded(const Report& report) {
  if (!report.waits.passed.empty()) return true;
  return std::any_of(report.failures.begin(), report.failures.end(),
                     [](const Failure& failure) { return failure.warned || failure.recovered; });
}

// Ranks without a log matter where somebody asks for them, or where those that have one wait.
bool is_missing(const Report& report) {
  if (!report.missing.any()) return false;
  return report.missing.asked || !report.waits.waits.empty();
}

// Somebody who is known to be late outweighs a rank that has no log.
bool is_known(const Sink& sink) {
  return sink.kind == Sink::Kind::kDied || sink.kind == Sink::Kind::kStopped ||
         sink.kind == Sink::Kind::kIdle || sink.kind == Sink::Kind::kBehind ||
         sink.kind == Sink::Kind::kMismatched;
}

// Who waited for long and was the last to go was ended with the job: it is no loss.
bool ended_waiting(const Report& report) {
  const auto& losses = report.first.losses;
  const auto is_lost = [&](std::size_t member) {
    return std::any_of(losses.begin(), losses.end(),
                       [&](const Loss& loss) { return loss.member == member; });
  };
  const auto waited = [&](const Loss& loss) {
    return !loss.clean && std::any_of(report.waits.waits.begin(), report.waits.waits.end(),
                                      [&](const Wait& wait) { return wait.member == loss.member; });
  };
  for (std::size_t i = 0; i < report.picture.members.size(); ++i)
    if (!is_lost(i) && report.picture.members[i].last > report.first.at) return false;
  return std::all_of(losses.begin(), losses.end(), waited);
}

Kind kind_of(const Report& report) {
  const bool echo = report.first.roots.size() == 1 && report.first.roots[0].reach == Reach::kEcho;
  if (!report.first.losses.empty()) return Kind::kLost;
  if (!report.first.roots.empty() && !(echo && is_missing(report))) return Kind::kFailed;
  const auto& sinks = report.waits.sinks;
  if (is_missing(report) && (sinks.empty() || !is_known(sinks.front()))) return Kind::kMissing;
  if (!report.waits.waits.empty() || !sinks.empty()) return Kind::kHang;
  if (is_missing(report)) return Kind::kMissing;
  if (!report.slow.empty()) return Kind::kSlow;
  if (any_degraded(report)) return Kind::kDegraded;
  if (any_is(report.picture, Ending::kDied) &&
      all_are(report.picture, {Ending::kDied, Ending::kCutOff}))
    return Kind::kEnded;
  return all_are(report.picture, {Ending::kClean}) ? Kind::kHealthy : Kind::kRunning;
}

Blame blame_of_hang(const Waits& waits) {
  if (!waits.network.empty()) return Blame::kNetwork;
  if (waits.sinks.empty()) return Blame::kOpen;
  switch (waits.sinks.front().kind) {
    case Sink::Kind::kIdle:
    case Sink::Kind::kStopped:
    case Sink::Kind::kDied:
    case Sink::Kind::kLeft:
    case Sink::Kind::kCycle:
    case Sink::Kind::kBehind:
    case Sink::Kind::kMismatched:
      return Blame::kNotNetwork;
    case Sink::Kind::kNetwork:
      return Blame::kNetwork;
    case Sink::Kind::kSilent:
    case Sink::Kind::kNoLog:
      return Blame::kOpen;
  }
  return Blame::kOpen;
}

}  // namespace

bool other_ends_unknown(const Report& report) {
  const auto unknown = [&](const Failure& root) {
    if (!root.peer) return true;
    const Member& peer = report.picture.members[*root.peer];
    return peer.ending == Ending::kCutOff && peer.last < root.at;
  };
  return std::all_of(report.first.roots.begin(), report.first.roots.end(),
                     [&](const Failure& root) {
                       return (root.reach == Reach::kPair || root.reach == Reach::kPeer) &&
                              root.told->event != "qp.transition" && unknown(root);
                     });
}

namespace {

Blame blame_of(const Report& report) {
  switch (report.kind) {
    case Kind::kHealthy:
    case Kind::kRunning:
    case Kind::kCount:
      return Blame::kNone;
    case Kind::kEnded:
    case Kind::kLost:
      return Blame::kNotNetwork;
    case Kind::kMissing:
      return Blame::kOpen;
    case Kind::kFailed:
      return report.first.roots.front().reach == Reach::kEcho || other_ends_unknown(report)
                 ? Blame::kOpen
                 : Blame::kNetwork;
    case Kind::kHang:
      return blame_of_hang(report.waits);
    case Kind::kSlow:
    case Kind::kDegraded:
      return Blame::kNetwork;
  }
  return Blame::kOpen;
}

std::vector<Failure> failing_of(const Report& report) {
  if (report.kind == Kind::kFailed) return report.first.roots;
  if (report.kind == Kind::kHang) return pairs_of(report.waits.network);
  if (report.kind != Kind::kDegraded) return {};
  auto out = pairs_of(report.waits.passed);
  for (const auto& failure : report.failures)
    if (failure.warned || failure.recovered) out.push_back(failure);
  return out;
}

bool any_warned(const Picture& picture) {
  return std::any_of(picture.members.begin(), picture.members.end(), [](const Member& member) {
    return std::any_of(
        member.log->diagnoses.begin(), member.log->diagnoses.end(),
        [](const log::Diagnosis& told) { return told.severity != log::Severity::kInfo; });
  });
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr std::array<const char*, static_cast<std::size_t>(Kind::kCount)> kNames{
      "healthy", "running", "ended", "failed", "lost", "missing", "hang", "slow", "degraded"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(Blame blame) {
  constexpr std::array<const char*, 4> kNames{"nothing", "network", "not the network", "open"};
  return kNames[static_cast<std::size_t>(blame)];
}

Report analyse(const Input& input, std::optional<int> expected_ranks) {
  Report out;
  out.picture = picture_of(input);
  // It takes as long as all the others.
  auto odd = std::async(std::launch::async, [&] { return odd_ones(out.picture); });
  out.failures = failures_of(out.picture);
  out.first = first_cause(out.picture, out.failures);
  out.missing = missing_of(out.picture, expected_ranks);
  out.waits = waits_of(out.picture);
  if (ended_waiting(out)) out.first.losses.clear();
  out.slow = slow_ports(out.picture);
  out.unbalanced = unbalanced(out.picture);
  out.late = late_members(out.picture);
  out.grown = grown_counters(out.picture);
  out.odd = odd.get();
  out.kind = kind_of(out);
  out.blame = blame_of(out);
  out.culprits = culprits_of(out.picture, failing_of(out), out.first.signs);
  out.warned = any_warned(out.picture) || out.kind == Kind::kEnded;
  return out;
}

}  // namespace nnd::report
