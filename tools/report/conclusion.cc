#include "report/conclusion.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

namespace nnd::report {

namespace {

using Seen = Observation::Kind;

constexpr Ns kSoonAfter = 2'000'000'000;
constexpr Ns kStallAge = 10'000'000'000;  // then waits are told

bool any_is(const Picture& picture, Ending ending) {
  return std::any_of(picture.members.begin(), picture.members.end(),
                     [&](const Member& member) { return member.ending == ending; });
}

class Conclude {
 public:
  Conclude(const Model& model, const Picture& picture, bool slow)
      : model_(model), picture_(picture), slow_(slow) {}

  Conclusion conclude() {
    find_roots();
    out_.kind = kind();
    if (out_.kind == Kind::kFailed) take_failures();
    if (out_.kind == Kind::kLost || (out_.kind == Kind::kSlow && !ends_.empty())) take_losses();
    if (out_.kind != Kind::kFailed)
      for (const auto i : failures_) out_.first.other.push_back(failure(i));
    add_followers();
    out_.blame = blame();
    return std::move(out_);
  }

 private:
  const Failure& failure(std::size_t i) const {
    return model_.failures[model_.observations[i].index];
  }
  const Sink* first_sink() const {
    return model_.waits.sinks.empty() ? nullptr : &model_.waits.sinks.front();
  }

  void find_roots() {
    explains_.resize(model_.observations.size());
    explains_sink_.resize(model_.observations.size());
    for (const auto& one : model_.observations) {
      if (!one.by) continue;
      explains_[*one.by] = true;
      if (one.kind == Seen::kSink) explains_sink_[*one.by] = true;
    }
    for (std::size_t i = 0; i < model_.observations.size(); ++i) {
      const Observation& one = model_.observations[i];
      // A warning that nothing came of.
      if (one.kind == Seen::kFailure && !explains(i) &&
          (is_fallback(*failure(i).told) || is_out_of_files(*failure(i).told)) &&
          failure(i).told->event != "conn.fail")
        continue;
      if (one.kind == Seen::kFailure && by_sign(i))
        failures_.push_back(i);
      else if (one.kind == Seen::kSign && explains_sink_[i])
        failures_.push_back(i);
      else if (one.by)
        continue;
      else if (one.kind == Seen::kFailure)
        (failure(i).reach == Reach::kEcho ? echoes_ : failures_).push_back(i);
      else if (one.kind == Seen::kEnd && !(anybody_waits() && model_.ends[*one.member].waited))
        ends_.push_back(i);
    }
    for (auto* all : {&failures_, &echoes_, &ends_})
      std::stable_sort(all->begin(), all->end(), [&](auto a, auto b) {
        return model_.observations[a].when.from < model_.observations[b].when.from;
      });
    drop_common_end();
  }
  bool anybody_waits() const { return !model_.waits.waits.empty() || !model_.waits.sinks.empty(); }
  bool any_waited() const {
    return std::any_of(model_.ends.begin(), model_.ends.end(),
                       [](const End& end) { return end.waited; });
  }
  bool explains(std::size_t i) const { return explains_[i]; }
  // What fails on a port that told of trouble is what the job fails of; the port says why.
  bool by_sign(std::size_t i) const {
    const auto& by = model_.observations[i].by;
    return by && model_.observations[*by].kind == Seen::kSign;
  }
  // Where all go one after the other, somebody ends the job: nobody was lost, but for those that
  // went before the rest did.
  void drop_common_end() {
    std::vector<Ns> times;
    std::optional<Ns> asked, last_asked;
    Ns last_done = 0;
    bool any_well = false, any_sure = false;
    for (std::size_t i = 0; i < model_.ends.size(); ++i) {
      const End& end = model_.ends[i];
      if (end.missed && end.kind != End::Kind::kDied) return;
      if (end.done) {
        last_done = std::max(last_done, end.when.to);
        continue;
      }
      if (end.kind == End::Kind::kDied)
        times.push_back(end.when.from);
      else if (end.kind == End::Kind::kLeft && was_ended(picture_.members[i])) {
        asked = std::min(asked.value_or(end.when.from), end.when.from);
        last_asked = std::max(last_asked.value_or(end.when.from), end.when.from);
        any_sure = any_sure || says_it_was_asked(*picture_.members[i].log);
      } else if (end.kind == End::Kind::kLeft && picture_.members[i].log->summary->catches_sigterm)
        any_well = true;  // as some heed a request to end
      else
        return;
    }
    if (times.empty() || (any_well && !asked)) return;
    std::sort(times.begin(), times.end());
    // Who was done with all did not go with the rest, where that was before.
    if (last_done + kTick > std::min(times.front(), asked.value_or(times.front()))) return;
    // Who doesn't heed a request to end is killed in the end, or by that itself.
    const bool all_asked = any_sure && *last_asked <= times.front() + kAskedTake &&
                           times.back() <= *asked + kAskedTake;
    if (!all_asked && (asked ? *asked + kTick > times.front() : some_went_before(times))) return;
    const bool proven = std::any_of(ends_.begin(), ends_.end(), [&](std::size_t i) {
      return model_.ends[*model_.observations[i].member].failed_towards;
    });
    if (proven) return;
    ends_.clear();
    common_end_ = true;
  }

  bool some_went_before(const std::vector<Ns>& times) const {
    Ns tick = 0;
    for (const Member& member : picture_.members) tick = std::max(tick, tick_of(member));
    std::size_t first = times.size(), later_gaps = 0;
    for (std::size_t i = 1; i < times.size(); ++i) {
      if (times[i] - times[i - 1] < tick) continue;
      later_gaps += first != times.size();
      first = std::min(first, i);
    }
    if (2 * first > times.size() || on_several_hosts(times[first - 1])) return false;
    // A pause that is longer than all the rest took.
    const Ns pause = times[first] - times[first - 1];
    if (pause > kSoonAfter && pause > times.back() - times[first]) return true;
    // One after the other all the way, and nobody missed the first: as where the boxes of a job
    // that runs are copied.
    return later_gaps < 3 || any_missed(times[first - 1]);
  }
  bool any_missed(Ns until) const {
    return std::any_of(model_.ends.begin(), model_.ends.end(), [&](const End& end) {
      return end.kind == End::Kind::kDied && end.missed && end.when.from <= until;
    });
  }

  // Those that had gone by then: of themselves processes of several nodes don't go in one moment.
  bool on_several_hosts(Ns until) const {
    std::set<std::size_t> hosts;
    for (std::size_t i = 0; i < model_.ends.size(); ++i)
      if (!model_.ends[i].done && model_.ends[i].when.from <= until)
        hosts.insert(picture_.members[i].host);
    return hosts.size() > 1;
  }

  // A collective that takes too long over a slow port ends the same way: nothing that says how.
  bool may_be_by_watchdog() const {
    return failures_.empty() && std::none_of(ends_.begin(), ends_.end(), [&](std::size_t i) {
             const End& end = model_.ends[*model_.observations[i].member];
             return end.kind == End::Kind::kLeft || end.failed_towards;
           });
  }
  Ns at_of_first_end() const { return model_.observations[ends_.front()].when.from; }
  bool ends_come_first() const {
    if (ends_.empty()) return false;
    const Span end = model_.observations[ends_.front()].when;
    const auto& own = *model_.observations[ends_.front()].member;
    if (!failures_.empty()) {
      const auto& first = model_.observations[failures_.front()];
      if (first.when.from <= end.to + apart(picture_, own, *first.member)) return false;
    }
    for (const auto i : model_.roots(Seen::kStuck))
      if (model_.observations[i].when.from <= end.to) return false;
    // So did a port of which others waited by then.
    for (const auto i : model_.roots(Seen::kSign))
      if (explains(i) && model_.observations[i].when.from <= end.from) return false;
    // Who was late before kept the others waiting; that somebody went then is the hang's end.
    for (const auto i : model_.roots(Seen::kSink)) {
      const Sink& sink = model_.waits.sinks[model_.observations[i].index];
      if (is_known(sink.kind) && sink.late_since() < end.from) return false;
      if (sink.kind == Sink::Kind::kMismatched) return false;  // who left had called it before
      if (sink.kind == Sink::Kind::kCycle && sink.since + kStallAge < end.from && gave_up(own))
        return false;
    }
    // So did a communicator that nobody could make.
    return !model_.stuck_making || first_told_making() > end.to;
  }
  // It closed its connections before it died: a watchdog, or the program, ended its communicators.
  bool gave_up(std::size_t member) const {
    const auto& all = picture_.members[member].log->connections;
    return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.second.closed; });
  }
  const log::Making& making() const { return *picture_.members[*model_.stuck_making].log->making; }
  Ns first_told_making() const { return picture_.at(*model_.stuck_making, making().first_ns); }

  // Who listened where it is refused: a log that just ends doesn't tell when.
  bool may_have_gone() const {
    return making().error == ECONNREFUSED && any_is(picture_, Ending::kCutOff);
  }

  // Somebody who is known to be late outweighs a rank that has no log.
  bool is_missing() const {
    if (!model_.missing.any()) return false;
    if (model_.missing.asked) return true;
    // Of those who have met only who is waited for is missing.
    if (model_.missing.came)
      return first_sink() != nullptr && first_sink()->kind == Sink::Kind::kNoLog;
    return !model_.waits.waits.empty() || !model_.making.empty();
  }
  bool echoes_only() const { return failures_.empty() && !echoes_.empty(); }

  Kind kind() const {
    if (ends_come_first()) return slow_ && may_be_by_watchdog() ? Kind::kSlow : Kind::kLost;
    if (!failures_.empty()) return Kind::kFailed;
    if (!echoes_.empty() && !is_missing() && !(first_sink() && is_known(first_sink()->kind)))
      return Kind::kFailed;
    const bool known = first_sink() != nullptr && is_known(first_sink()->kind);
    if (model_.blocked) return Kind::kHang;
    if (is_missing() && !known) return Kind::kMissing;
    if (!model_.waits.waits.empty() || first_sink() != nullptr || model_.stuck_making)
      return Kind::kHang;
    if (slow_) return Kind::kSlow;
    if (any_degraded()) return Kind::kDegraded;
    return kind_of_quiet();
  }

  Kind kind_of_quiet() const {
    if (common_end_) return Kind::kEnded;
    const auto& all = picture_.members;
    if (std::any_of(all.begin(), all.end(), was_ended) &&
        std::all_of(all.begin(), all.end(), [](const Member& one) {
          return was_ended(one) || one.ending == Ending::kCutOff;
        }))
      return Kind::kEnded;
    if (std::all_of(all.begin(), all.end(),
                    [](const Member& one) { return one.ending == Ending::kClean; }))
      return left_the_missing() ? Kind::kEnded : Kind::kHealthy;
    return model_.making.empty() ? Kind::kRunning : Kind::kStarting;
  }

  // Somebody ended with requests under way, and those who would tell how they took it have no log.
  bool left_the_missing() const {
    return model_.missing.any() &&
           std::any_of(picture_.members.begin(), picture_.members.end(), [](const Member& one) {
             return one.log->summary && one.log->summary->pending != 0;
           });
  }

  bool any_degraded() const {
    if (!model_.waits.passed.empty()) return true;
    return std::any_of(model_.failures.begin(), model_.failures.end(),
                       [](const Failure& one) { return one.warned || one.recovered; });
  }

  void take_failures() {
    auto& first = out_.first;
    if (failures_.empty()) {
      first.roots.push_back(failure(echoes_.front()));
      first.at = first.roots.front().at;
      return;
    }
    const auto& cause = failure(failures_.front()).told->cause;
    first.at = failure(failures_.front()).at;
    for (const auto i : failures_) {
      const bool root = failure(i).told->cause == cause || same_sign(i, failures_.front());
      (root ? first.roots : first.other).push_back(failure(i));
    }
    std::set<std::size_t> signs;
    for (const auto i : failures_)
      if (by_sign(i)) signs.insert(model_.root_of(i));
    for (const auto i : signs) first.signs.push_back(failure(i));
    // Also those that others follow from.
    for (std::size_t i = 0; i < model_.observations.size(); ++i)
      if (model_.observations[i].kind == Seen::kSign &&
          model_.observations[i].how == Observation::How::kFollowsFrom &&
          signs.contains(model_.root_of(i)))
        first.signs.push_back(failure(i));
  }
  bool same_sign(std::size_t one, std::size_t other) const {
    return by_sign(one) && by_sign(other) && model_.root_of(one) == model_.root_of(other);
  }

  void take_losses() {
    auto& first = out_.first;
    first.at = at_of_first_end();
    const bool clean = is_clean(ends_.front());
    // Those that left much later followed.
    for (const auto i : ends_)
      if (model_.observations[i].when.from <= first.at + kSoonAfter && is_clean(i) == clean)
        first.losses.push_back(
            {*model_.observations[i].member, model_.observations[i].when.from, clean});
  }
  bool is_clean(std::size_t i) const {
    return model_.ends[*model_.observations[i].member].kind == End::Kind::kLeft;
  }

  void add_followers() {
    std::set<const log::Diagnosis*> told;
    for (const auto* all : {&out_.first.roots, &out_.first.other})
      for (const auto& one : *all) told.insert(one.told);
    for (const auto& one : model_.failures)
      if (!one.warned && !one.recovered && !told.contains(one.told))
        out_.first.followed.push_back(one);
    if (out_.kind == Kind::kFailed) return;
    // Signs are told in any case.
    for (const auto i : model_.roots(Seen::kSign)) out_.first.signs.push_back(failure(i));
  }

  // With a part of the logs only, who went first may be one of the others, and who had waited went
  // for what he waited for: what shows that it was not so is that others failed of him.
  Blame blame_of_losses() const {
    const auto any = [&](const auto& is) {
      return std::any_of(out_.first.losses.begin(), out_.first.losses.end(),
                         [&](const Loss& loss) { return is(model_.ends[loss.member]); });
    };
    // Several nodes' processes don't die in one moment of themselves.
    std::set<std::size_t> hosts;
    for (const auto& loss : out_.first.losses)
      if (!loss.clean) hosts.insert(picture_.members[loss.member].host);
    const bool several = hosts.size() > 1;
    // Who ended with a failed status may have met what the log that is cut off doesn't tell.
    const bool may_follow =
        (any_failed_exit() && any_cut_off()) || (several && model_.missing.any());
    if (!may_follow &&
        any([](const End& end) { return end.failed_towards && !end.waited && end.sure; }))
      return Blame::kNotNetwork;
    const bool waited = any([](const End& end) { return end.waited; });
    const bool unsure = any([](const End& end) { return !end.sure || end.failed_before; }) ||
                        may_follow || may_be_another() || lost_words();
    return waited || unsure || several || model_.missing.any() ? Blame::kOpen : Blame::kNotNetwork;
  }

  // What who died waited for may be in the part of its log that isn't here.
  bool lost_words() const {
    return std::any_of(out_.first.losses.begin(), out_.first.losses.end(), [&](const Loss& loss) {
      return !loss.clean && picture_.members[loss.member].log->cut_off;
    });
  }

  bool any_cut_off() const {
    return std::any_of(picture_.members.begin(), picture_.members.end(),
                       [](const Member& one) { return one.log->cut_off; });
  }

  bool any_failed_exit() const {
    return std::any_of(out_.first.losses.begin(), out_.first.losses.end(), [&](const Loss& loss) {
      return is_failed_exit(*picture_.members[loss.member].log);
    });
  }

  // The log of another one is cut off before a death or an exit that nobody missed, so that its own
  // end isn't known.
  bool may_be_another() const {
    const auto& losses = out_.first.losses;
    return std::any_of(
               losses.begin(), losses.end(),
               [&](const Loss& loss) { return !loss.clean || model_.ends[loss.member].failed; }) &&
           std::any_of(picture_.members.begin(), picture_.members.end(), [&](const Member& one) {
             return lacks_its_end(one) && one.last < out_.first.at + kSoonAfter;
           });
  }

  // What it told last may be in the part that isn't here.
  bool any_lacks_its_end() const {
    return std::any_of(picture_.members.begin(), picture_.members.end(), lacks_its_end);
  }

  Blame blame_of_hang() const {
    if (!model_.waits.network.empty()) return Blame::kNetwork;
    if (model_.blocked)
      return making().told.cause == nccl_net_diag::cause_id(nccl_net_diag::Cause::kOobBlocked) &&
                     !may_have_gone()
                 ? Blame::kNetwork
                 : Blame::kOpen;
    if (first_sink() == nullptr) return Blame::kOpen;
    if (first_sink()->kind == Sink::Kind::kNetwork) return Blame::kNetwork;
    if (first_sink()->kind == Sink::Kind::kCycle)
      return model_.missing.any() || any_is(picture_, Ending::kCutOff) ? Blame::kOpen
                                                                       : Blame::kNotNetwork;
    // What its neighbours wait for isn't known without their logs.
    if ((first_sink()->kind == Sink::Kind::kIdle || first_sink()->kind == Sink::Kind::kBehind) &&
        lacks_neighbours(picture_, model_.missing, first_sink()->members.front()))
      return Blame::kOpen;
    // What kept it may be in the part of a log that isn't here.
    if (first_sink()->kind == Sink::Kind::kBehind && any_cut_off()) return Blame::kOpen;
    return is_known(first_sink()->kind) ? Blame::kNotNetwork : Blame::kOpen;
  }

  Blame blame() const {
    switch (out_.kind) {
      case Kind::kHealthy:
      case Kind::kRunning:
      case Kind::kStarting:
      case Kind::kCount:
        return Blame::kNone;
      case Kind::kEnded:
        return model_.making.empty() && !model_.missing.any() && !any_waited() &&
                       !any_lacks_its_end()
                   ? Blame::kNotNetwork
                   : Blame::kOpen;
      case Kind::kLost:
        return blame_of_losses();
      case Kind::kMissing:
        return Blame::kOpen;
      case Kind::kFailed:
        return out_.first.roots.front().reach == Reach::kEcho ||
                       other_ends_unknown(picture_, out_.first.roots)
                   ? Blame::kOpen
                   : Blame::kNetwork;
      case Kind::kHang:
        return blame_of_hang();
      case Kind::kSlow:
        return out_.first.losses.empty() ? Blame::kNetwork : Blame::kOpen;
      case Kind::kDegraded:
        return Blame::kNetwork;
    }
    return Blame::kOpen;
  }

  const Model& model_;
  const Picture& picture_;
  bool slow_;
  std::vector<bool> explains_, explains_sink_;         // other observations
  std::vector<std::size_t> failures_, echoes_, ends_;  // roots, by time
  bool common_end_ = false;                            // somebody ended the job
  Conclusion out_;
};

}  // namespace

const char* name_of(Kind kind) {
  constexpr std::array<const char*, static_cast<std::size_t>(Kind::kCount)> kNames{
      "healthy", "running", "starting", "ended", "failed",
      "lost",    "missing", "hang",     "slow",  "degraded"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(Blame blame) {
  constexpr std::array<const char*, 4> kNames{"nothing", "network", "not the network", "open"};
  return kNames[static_cast<std::size_t>(blame)];
}

Conclusion conclude(const Model& model, const Picture& picture, bool slow) {
  return Conclude(model, picture, slow).conclude();
}

bool other_ends_unknown(const Picture& picture, const std::vector<Failure>& roots) {
  const auto unknown = [&](const Failure& root) {
    if (!root.peer) return true;
    const Member& peer = picture.members[*root.peer];
    return peer.ending == Ending::kCutOff && peer.last < root.at;
  };
  return std::all_of(roots.begin(), roots.end(), [&](const Failure& root) {
    return (root.reach == Reach::kPair || root.reach == Reach::kPeer) &&
           root.told->event != "qp.transition" && unknown(root);
  });
}

}  // namespace nnd::report
