#include "report/report.h"

#include <algorithm>
#include <future>

#include "nccl_net_diag/causes.h"
#include "report/meaning.h"

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

std::vector<Failure> failing_of(const Report& report) {
  if (report.kind == Kind::kFailed) return report.first.roots;
  if (report.kind == Kind::kHang) return pairs_of(report.waits.network);
  if (report.kind != Kind::kDegraded) return {};
  auto out = pairs_of(report.waits.passed);
  for (const auto& failure : report.failures)
    if (failure.warned || failure.recovered) out.push_back(failure);
  return out;
}

// What did not move, and may be the other end's. Where requests fail, what came through before
// tells nothing of a pair that waits since.
std::vector<Failure> doubted_of(const Report& report) {
  const bool requests_fail = report.kind == Kind::kFailed && fails_requests(report.first.roots);
  std::vector<Failure> out;
  if (report.kind != Kind::kHang && !requests_fail) return out;
  for (const auto& wait : report.waits.waits)
    if (requests_fail || wait.blames_network()) out.push_back(pair_of(wait));
  return out;
}

// What a difference between processes may explain: what failed, or waits for nobody who is known to
// be late.
std::vector<Failure> compared(const Report& report) {
  if (report.kind == Kind::kHang && report.waits.network.empty() &&
      (report.waits.sinks.empty() || !is_known(report.waits.sinks.front().kind)))
    return pairs_of(report.waits.waits);
  return report.kind == Kind::kFailed || report.kind == Kind::kHang ? failing_of(report)
                                                                    : std::vector<Failure>();
}

// Its processes were ended, by a watchdog mostly, and nobody knows of what.
bool is_unexplained(const Report& report) {
  if (report.kind == Kind::kEnded) return true;
  return report.kind == Kind::kLost && !report.first.losses.front().clean &&
         (report.blame == Blame::kOpen ||
          std::none_of(report.first.losses.begin(), report.first.losses.end(),
                       [&](const Loss& loss) { return report.ends[loss.member].failed_towards; }));
}

// NCCL makes no communicator of two of its releases.
bool is_of_releases(const Difference& difference) {
  return difference.cause == nccl_net_diag::cause_id(nccl_net_diag::Cause::kIncVersion);
}

// No communicator, that is known of, and no connection.
bool made_nothing(const log::Process& process) {
  return process.connections.empty() &&
         std::none_of(process.communicators.begin(), process.communicators.end(),
                      [](const auto& one) { return one.second.init_seq != 0; });
}

// All ended by themselves, or are making one, and none made a communicator: NCCL may refuse to.
bool none_made_any(const Report& report) {
  const auto& members = report.picture.members;
  const auto& losses = report.first.losses;
  const bool failed = report.kind == Kind::kLost &&
                      std::all_of(losses.begin(), losses.end(),
                                  [&](const Loss& one) { return report.ends[one.member].failed; });
  const bool making = report.stuck_making && !report.missing.any();
  return (report.kind == Kind::kHealthy || failed || making) && members.size() > 1 &&
         std::all_of(members.begin(), members.end(),
                     [](const Member& member) { return made_nothing(*member.log); });
}

// That a rank is late, or that ranks wait for each other, shows that the network has nothing to
// deliver: their peers' ends agree. Why a process ended or stopped may be anything.
Blame blame_of(const ToldRoot& named) {
  const std::string& kind = named.awaited->kind;
  if (kind == "idle" || kind == "cycle") return Blame::kNotNetwork;
  return kind == "pair" || kind == "port" ? Blame::kNetwork : Blame::kOpen;
}

bool any_warned(const Picture& picture) {
  return std::any_of(picture.members.begin(), picture.members.end(), [](const Member& member) {
    return std::any_of(
        member.log->diagnoses.begin(), member.log->diagnoses.end(),
        [](const log::Diagnosis& told) { return told.severity != log::Severity::kInfo; });
  });
}

// Who is late by what its own port takes for its sends.
bool sends_slowly(const Report& report, std::size_t member) {
  const std::string& host = report.picture.members[member].log->host;
  return std::any_of(report.slow.begin(), report.slow.end(),
                     [&](const Slow& slow) { return slow.place.host == host; });
}

}  // namespace

Report analyse(const Input& input, std::optional<int> expected_ranks,
               std::optional<std::size_t> run) {
  Report out;
  out.picture = picture_of(input, run);
  // It takes as long as all the others.
  auto odd = std::async(std::launch::async, [&] { return deviations(out.picture); });
  static_cast<Model&>(out) = model_of(out.picture, expected_ranks);
  out.slow = slow_ports(out.picture);
  out.unbalanced = unbalanced(out.picture);
  out.late = late_members(out.picture);
  std::erase_if(out.late, [&](const Late& late) { return sends_slowly(out, late.member); });
  out.latecomer = latecomer(out.picture);
  out.bandwidths = bandwidths_of(out.picture);
  out.grown = grown_counters(out.picture);
  out.mismatched = quiet_mismatches(out.picture);
  out.odd = odd.get();
  const auto slower = std::find_if(out.odd.begin(), out.odd.end(), is_far_slower);
  if (slower != out.odd.end()) out.slower_link = static_cast<std::size_t>(slower - out.odd.begin());
  auto conclusion = conclude(out, out.picture, !out.slow.empty());
  out.kind = conclusion.kind;
  out.blame = conclusion.blame;
  if (out.kind == Kind::kMissing && out.missing.is_counted_unlike()) out.blame = Blame::kNotNetwork;
  out.first = std::move(conclusion.first);
  const auto failing = compared(out);
  const bool nothing_made = none_made_any(out);
  if (!failing.empty() || is_unexplained(out) || nothing_made)
    out.difference = difference_of(out.picture, out.odd, failing);
  if (nothing_made && failing.empty() && out.difference && !is_of_releases(*out.difference))
    out.difference.reset();
  if (out.difference && failing.empty()) {
    out.blame = is_of_releases(*out.difference) ? Blame::kNotNetwork : Blame::kOpen;
    out.kind = Kind::kLost;
  }
  if (out.kind == Kind::kFailed && out.first.roots.front().reach == Reach::kEcho)
    out.rails = rails_apart(out.picture, out.first.roots.front());
  if (out.rails) out.blame = Blame::kNetwork;
  out.crosses_rails = out.kind == Kind::kFailed && !out.difference && !out.rails &&
                      crosses_rails(out.picture, out.first.roots);
  // What keeps ends apart that wait for each other is nobody's being late.
  if (out.difference && out.kind == Kind::kHang) out.blame = Blame::kNetwork;
  if (auto words = own_words_of(out)) {
    out.own_words = std::move(words);
    out.kind = Kind::kLost;
    out.blame = Blame::kNotNetwork;
  }
  if (auto named = told_root_of(out)) {
    out.blame = blame_of(*named);
    out.kind = Kind::kHang;
    out.named = std::move(named);
  }
  out.culprits = culprits_of(out.picture, failing_of(out), out.first.signs, doubted_of(out));
  out.warned = any_warned(out.picture) || !out.mismatched.empty() || out.slower_link ||
               (out.kind == Kind::kEnded && !out.making.empty());
  return out;
}

}  // namespace nnd::report
