#include "report/relations.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "report/clocks.h"
#include "report/sinks.h"

namespace nnd::report {

namespace {

using Seen = Observation::Kind;
using How = Observation::How;

constexpr Ns kTogether = 1'000'000'000;
constexpr Ns kLaunchersTake = 2'000'000'000;

bool same_place(const Place& a, const Place& b) {
  return !a.dev.empty() && a.host == b.host && a.dev == b.dev;
}

class Relations {
 public:
  Relations(Model& model, const Picture& picture) : model_(model), picture_(picture) {
    const auto members = picture.members.size();
    end_of_.resize(members);
    wait_of_.resize(members);
    making_of_.resize(members);
    stuck_of_.resize(members);
    for (std::size_t i = 0; i < picture.hosts.size(); ++i) hosts_[picture.hosts[i].name] = i;
    for (std::size_t i = 0; i < model.observations.size(); ++i) note(i);
  }

  void relate() {
    relate_signs();
    relate_failures();
    add_sinks();
    for_each(Seen::kStuck, [&](std::size_t i) { relate_stuck(i); });
    relate_making();
    for_each(Seen::kEnd, [&](std::size_t i) { relate_end(i); });
    down_at_first_wait_ = down_at_first_wait();
    for_each(Seen::kSink, [&](std::size_t i) { relate_sink(i); });
  }

 private:
  // Adds to what can be looked up.
  void note(std::size_t i) {
    const Observation& one = model_.observations[i];
    if (one.kind == Seen::kEnd) end_of_[*one.member] = i;
    if (one.kind == Seen::kWait) wait_of_[*one.member] = i;
    if (one.kind == Seen::kMaking) making_of_[*one.member] = i;
    if (one.kind == Seen::kStuck) stuck_of_[*one.member].push_back(i);
    if (one.kind == Seen::kMissing) missing_ = i;
    if (one.kind == Seen::kFailure) {
      const auto [first, is_new] = first_failure_.try_emplace(*one.member, i);
      if (!is_new && before(i, first->second)) first->second = i;
      if (is_own(failure(i).reach)) {
        const auto [local, is_first] = local_failure_.try_emplace(*one.member, i);
        if (!is_first && before(i, local->second)) local->second = i;
      }
    }
  }
  bool before(std::size_t one, std::size_t other) const {
    return model_.observations[one].when.from < model_.observations[other].when.from;
  }
  template <typename Do>
  void for_each(Seen kind, const Do& what) {
    for (std::size_t i = 0; i < model_.observations.size(); ++i)
      if (model_.observations[i].kind == kind) what(i);
  }
  const Failure& failure(std::size_t i) const {
    return model_.failures[model_.observations[i].index];
  }
  const Wait& wait(std::size_t i) const { return model_.waits.waits[model_.observations[i].index]; }
  const Sink& sink(std::size_t i) const { return model_.waits.sinks[model_.observations[i].index]; }
  Ns slack(std::size_t one, std::size_t other) const { return apart(picture_, one, other); }

  // Nothing explains itself.
  bool explain(std::size_t effect, std::optional<std::size_t> cause, How how) {
    if (!cause || model_.observations[effect].by || model_.root_of(*cause) == effect) return false;
    model_.observations[effect].by = cause;
    model_.observations[effect].how = how;
    return true;
  }

  // What a process tells of a port all of its node tell, and a cable has two ends.
  void relate_signs() {
    std::vector<std::size_t> first;
    for_each(Seen::kSign, [&](std::size_t i) {
      const auto [known, is_new] = signs_.try_emplace(place_key(failure(i).here), i);
      if (is_new)
        first.push_back(i);
      else
        explain(i, known->second, How::kSameAs);
    });
    for (std::size_t later = 1; later < first.size(); ++later)
      for (std::size_t earlier = 0; earlier < later; ++earlier)
        if (same_cable(first[earlier], first[later]) &&
            explain(first[later], first[earlier], How::kFollowsFrom))
          break;
  }

  using PlaceKey = std::pair<std::string, std::string>;  // host and HCA
  static PlaceKey place_key(const Place& place) { return {place.host, place.dev}; }

  bool same_cable(std::size_t earlier, std::size_t later) const {
    const Failure &one = failure(earlier), &other = failure(later);
    if (other.at - one.at > kTogether || one.here.host == other.here.host) return false;
    for (const auto& [number, connection] : picture_.members[one.member].log->connections)
      if (same_place(picture_.place_of(one.member, connection.dev), one.here) &&
          same_place(picture_.peer_place(one.member, connection.peer, number), other.here))
        return true;
    return false;
  }

  std::optional<std::size_t> sign_at(const Place& place, Ns until) const {
    const auto found = signs_.find(place_key(place));
    if (place.dev.empty() || found == signs_.end() ||
        model_.observations[found->second].when.from > until)
      return std::nullopt;
    return found->second;
  }

  // An end that is not the end of a process that had failed.
  std::optional<std::size_t> plain_end_of(std::size_t member) const {
    const auto end = end_of_[member];
    if (!end) return std::nullopt;
    const auto own = first_failure_.find(member);
    if (own != first_failure_.end() &&
        model_.observations[own->second].when.from <= model_.observations[*end].when.to)
      return std::nullopt;
    return end;
  }

  void relate_failures() {
    std::vector<std::size_t> order;
    for_each(Seen::kFailure, [&](std::size_t i) { order.push_back(i); });
    for (const auto i : order)
      if (failure(i).reach != Reach::kEcho) relate_failure(i);
    // An echo may be told before what it echoes.
    std::vector<std::size_t> roots, ends;
    for (const auto i : order)
      if (failure(i).reach != Reach::kEcho && !model_.observations[i].by) roots.push_back(i);
    for (std::size_t member = 0; member < end_of_.size(); ++member)
      if (const auto end = plain_end_of(member)) ends.push_back(*end);
    const auto first = [&](std::vector<std::size_t>& all) {
      std::stable_sort(all.begin(), all.end(), [&](auto a, auto b) { return before(a, b); });
    };
    first(roots);
    first(ends);
    for (const auto i : order)
      if (failure(i).reach == Reach::kEcho) relate_echo(i, roots, ends);
  }

  void relate_failure(std::size_t i) {
    const Failure& seen = failure(i);
    const std::size_t self = seen.member;
    // What a port tells of comes before what fails on it.
    for (const Place* place : {&seen.here, &seen.there})
      if (const auto sign = sign_at(*place, seen.at + kTogether))
        if ((!is_own(seen.reach) || failure(*sign).told->cause == seen.told->cause) &&
            explain(i, sign, How::kFollowsFrom))
          return;
    // After its first failure a process fails everywhere; what fails alike has the same cause.
    const auto own = first_failure_.find(self)->second;
    if (own != i && failure(own).told->cause != seen.told->cause && !only_drops_for(own, seen) &&
        explain(i, own, How::kFollowsFrom))
      return;
    if (is_own(seen.reach)) return;
    if (seen.peer) {
      const auto local = local_failure_.find(*seen.peer);
      if (local != local_failure_.end() &&
          model_.observations[local->second].when.from <= seen.at + slack(self, *seen.peer) &&
          explain(i, local->second, How::kFollowsFrom))
        return;
    }
    if (!can_follow_a_death(seen)) return;
    if (!seen.peer) {
      if (const auto host = end_of_host(seen.there.host, seen.gone_by()))
        explain(i, host, How::kFollowsFrom);
      return;
    }
    const auto end = plain_end_of(*seen.peer);
    if (end &&
        (proves_a_death(seen) || model_.observations[*end].when.from <=
                                     seen.gone_by() + clocks_apart(picture_, self, *seen.peer)))
      explain(i, end, How::kFollowsFrom);
  }

  // What an HCA drops as it fails may be told a moment before the event that says why.
  bool only_drops_for(std::size_t earlier, const Failure& cause) const {
    return failure(earlier).reach == Reach::kEcho && is_own(cause.reach) &&
           cause.at <= failure(earlier).at + kTogether;
  }

  // The last of its processes to end, where all had by then.
  std::optional<std::size_t> end_of_host(const std::string& name, Ns at) const {
    const auto found = hosts_.find(name);
    if (found == hosts_.end()) return std::nullopt;
    std::optional<std::size_t> last;
    for (const auto member : picture_.hosts[found->second].members) {
      const auto end = plain_end_of(member);
      if (!end || model_.observations[*end].when.from > at + kTogether) return std::nullopt;
      if (!last || before(*last, *end)) last = end;
    }
    return last;
  }

  // Of the other end's, else of whatever was there by then. It may be told a moment before.
  void relate_echo(std::size_t i, const std::vector<std::size_t>& roots,
                   const std::vector<std::size_t>& ends) {
    const Failure& seen = failure(i);
    if (seen.peer) {
      const auto end = plain_end_of(*seen.peer);
      if (end && model_.observations[*end].when.from <= seen.at + slack(seen.member, *seen.peer) &&
          explain(i, end, How::kEchoes))
        return;
    }
    const auto own = first_failure_.find(seen.member)->second;
    if (own != i && explain(i, own, How::kFollowsFrom)) return;
    if (seen.peer)
      if (const auto others = first_failure_.find(*seen.peer);
          others != first_failure_.end() && failure(others->second).reach != Reach::kEcho &&
          explain(i, others->second, How::kEchoes))
        return;
    const auto by_then = [&](const std::vector<std::size_t>& all) -> std::optional<std::size_t> {
      if (all.empty() || model_.observations[all.front()].when.from > seen.at + kTogether)
        return std::nullopt;
      return all.front();
    };
    if (explain(i, by_then(roots), How::kEchoes)) return;
    if (!seen.peer) explain(i, by_then(ends), How::kEchoes);
    // What follows from nothing that came before follows from what came at all.
    if (!roots.empty()) explain(i, roots.front(), How::kEchoes);
  }

  // What is stuck on its way to a process that is gone or stopped is no evidence of the network,
  // but what had been told before it went is.
  std::optional<std::size_t> gone_peer(const Wait& one) const {
    if (!one.peer) return std::nullopt;
    const auto end = plain_end_of(*one.peer);
    // A process that lives is answered for by its HCA, whatever it does.
    constexpr Ns kMoment = 250'000'000;
    if (!end ||
        model_.observations[*end].when.from > one.since + kMoment + slack(one.member, *one.peer))
      return std::nullopt;
    return end;
  }
  bool is_network(const Wait& one) const {
    if (!one.blames_network()) return false;
    const bool unanswered = one.stall->kind == "stuck-send" || one.stall->kind == "tcp";
    if (!unanswered) return true;
    if (!one.peer) return one.stall->peer_tcp != "closed";
    return !is_stopped(picture_.members[*one.peer]) && !gone_peer(one) && !may_be_gone(one);
  }
  // The other end's log just ends before, and nothing tells how.
  bool may_be_gone(const Wait& one) const {
    const Member& peer = picture_.members[*one.peer];
    return peer.ending == Ending::kCutOff && peer.last + slack(one.member, *one.peer) < one.told_at;
  }

  void add_sinks() {
    std::vector<const Wait*> stuck;
    for (const auto& one : model_.waits.waits)
      if (is_network(one)) stuck.push_back(&one);
    std::erase_if(model_.waits.network, [&](const Wait& one) { return !is_network(one); });
    // What an HCA can't send says more than what somebody misses.
    std::stable_partition(model_.waits.network.begin(), model_.waits.network.end(),
                          [](const Wait& one) { return !one.lost; });
    waits_for_ = report::add_sinks(model_, picture_, stuck);
    const std::size_t first = model_.observations.size();
    if (!model_.waits.sinks.empty()) first_sink_ = first;
    for (std::size_t i = 0; i < model_.waits.sinks.size(); ++i) {
      const Sink& one = model_.waits.sinks[i];
      Observation out;
      out.kind = Seen::kSink;
      out.index = i;
      if (one.members.size() == 1) out.member = one.members.front();
      out.when = {one.since, one.since};
      if (one.kind == Sink::Kind::kNetwork || one.kind == Sink::Kind::kCycle ||
          one.kind == Sink::Kind::kNoLog)
        out.when = {picture_.first, picture_.last};
      model_.observations.push_back(out);
      for (const auto member : one.members) sinks_of_[member].push_back(first + i);
    }
    for_each(Seen::kWait, [&](std::size_t i) {
      const auto member = *model_.observations[i].member;
      if (waits_for_.sink[member]) {
        explain(i, first + *waits_for_.sink[member], How::kWaitsFor);
      } else if (!model_.waits.sinks.empty() && is_known(model_.waits.sinks.front().kind) &&
                 !sinks_of_.contains(member)) {
        // Inside a node processes wait for each other where no chain shows it.
        explain(i, first, How::kWaitsFor);
      }
    });
  }

  void relate_stuck(std::size_t i) {
    const Wait& one = wait(i);
    const Ns until = picture_.members[one.member].last;
    if (explain(i, gone_peer(one), How::kFollowsFrom)) return;
    if (one.peer && is_stopped(picture_.members[*one.peer]))
      for (const auto sink_index : sinks_of_[*one.peer])
        if (sink(sink_index).kind == Sink::Kind::kStopped &&
            explain(i, sink_index, How::kFollowsFrom))
          return;
    for (const Place* place : {&one.here, &one.there})
      if (explain(i, sign_at(*place, until), How::kFollowsFrom)) return;
    // What waited and then failed is one thing, and the failure says more.
    const auto own = first_failure_.find(one.member);
    if (own != first_failure_.end() && explain(i, own->second, How::kSameAs)) return;
    if (one.peer)
      if (const auto others = first_failure_.find(*one.peer); others != first_failure_.end())
        explain(i, others->second, How::kFollowsFrom);
  }

  // In their initialisation all wait for all.
  void relate_making() {
    std::optional<std::size_t> end, failed;
    for (std::size_t member = 0; member < end_of_.size(); ++member)
      if (const auto one = plain_end_of(member); one && (!end || before(*one, *end))) end = one;
    for (const auto& [member, one] : first_failure_)
      if (!model_.observations[one].by && (!failed || before(one, *failed))) failed = one;
    for_each(Seen::kMaking, [&](std::size_t i) {
      const auto& told = picture_.members[*model_.observations[i].member].log->making;
      if (told && told->blocked()) return;
      if (explain(i, failed, How::kWaitsFor)) return;
      const auto came_late = [&](std::size_t one) {
        return told && model_.observations[one].when.from >
                           picture_.at(*model_.observations[i].member, told->first_ns);
      };
      if (end && !came_late(*end) &&
          model_.observations[*end].member != model_.observations[i].member &&
          model_.observations[*end].when.to + kTogether < picture_.last &&
          explain(i, end, How::kWaitsFor))
        return;
      if (explain(i, missing_, How::kWaitsFor)) return;
      if (first_sink_ && sink(*first_sink_).kind == Sink::Kind::kNotCome)
        explain(i, first_sink_, How::kWaitsFor);
    });
  }

  void relate_end(std::size_t i) {
    const std::size_t member = *model_.observations[i].member;
    const Span when = model_.observations[i].when;
    const auto own = first_failure_.find(member);
    if (own != first_failure_.end() && model_.observations[own->second].when.from <= when.to &&
        explain(i, own->second, How::kEndedBy))
      return;
    if (explain_by_own_wait(i, member)) return;
    if (const auto& after = model_.ends[member].after;
        after && explain(i, end_of_[*after], How::kEndedBy))
      return;
    // A job falls with whoever failed or went before. What failed within the bounds of an end came
    // first, unless it is what the end makes fail.
    if (const auto failed = first_root_failure();
        failed &&
        model_.observations[*failed].when.from <=
            when.to + slack(member, *model_.observations[*failed].member) &&
        explain(i, failed, How::kEndedBy))
      return;
    if (explain_by_exit(i, member) || explain_by_lone_death(i, member)) return;
    if (const auto first = first_end(); first && *first != i && may_follow(*first, i))
      explain(i, first, How::kEndedBy);
  }

  // Launchers end the others within milliseconds of a process that exits with a failure, and a box
  // knows of life no better than that.
  bool explain_by_exit(std::size_t i, std::size_t member) {
    const auto exit = first_failed_exit();
    if (!exit || model_.ends[member].kind != End::Kind::kDied) return false;
    if (model_.ends[*model_.observations[*exit].member].after == member) return false;
    return model_.observations[*exit].when.from <=
               model_.observations[i].when.to + slack(member, *model_.observations[*exit].member) &&
           most_ended_by(model_.observations[*exit].when.from) && explain(i, exit, How::kEndedBy);
  }
  // NCCL fails where a peer dies, and the program exits; nobody dies of another one's exit but
  // where a launcher ends all. Who still lived as it exited is not what it exited for.
  bool explain_by_lone_death(std::size_t i, std::size_t member) {
    if (model_.ends[member].kind != End::Kind::kLeft) return false;
    const auto death = first_death();
    return death &&
           model_.observations[*death].when.from <=
               model_.observations[i].when.from +
                   clocks_apart(picture_, member, *model_.observations[*death].member) &&
           !most_ended_by(model_.observations[i].when.from) && explain(i, death, How::kEndedBy);
  }
  bool most_ended_by(Ns at) {
    if (end_times_.empty()) {
      for (const End& end : model_.ends)
        if (end.ended()) end_times_.push_back(end.when.from);
      std::sort(end_times_.begin(), end_times_.end());
    }
    const auto ended = std::upper_bound(end_times_.begin(), end_times_.end(), at + kLaunchersTake) -
                       end_times_.begin();
    return 2 * static_cast<std::size_t>(ended) > model_.ends.size();
  }

  // The earliest of a kind for which is(observation) holds, looked for when it is asked for first.
  struct First {
    bool known = false;
    std::optional<std::size_t> at;
  };
  template <typename Is>
  std::optional<std::size_t> find_first(First& first, Seen kind, const Is& is) {
    if (!first.known)
      for_each(kind, [&](std::size_t i) {
        if (is(i) && (!first.at || before(i, *first.at))) first.at = i;
      });
    first.known = true;
    return first.at;
  }
  End::Kind end_kind(std::size_t i) const {
    return model_.ends[*model_.observations[i].member].kind;
  }
  std::optional<std::size_t> first_end() {
    return find_first(end_, Seen::kEnd, [](std::size_t) { return true; });
  }
  std::optional<std::size_t> first_death() {
    return find_first(death_, Seen::kEnd,
                      [&](std::size_t i) { return end_kind(i) == End::Kind::kDied; });
  }
  std::optional<std::size_t> first_failed_exit() {
    return find_first(failed_exit_, Seen::kEnd, [&](std::size_t i) {
      const auto member = *model_.observations[i].member;
      return end_kind(i) == End::Kind::kLeft &&
             (is_failed_exit(*picture_.members[member].log) || model_.ends[member].closed_for) &&
             !first_failure_.contains(member);
    });
  }
  std::optional<std::size_t> first_root_failure() {
    return find_first(root_failure_, Seen::kFailure, [&](std::size_t i) {
      return !model_.observations[i].by && failure(i).reach != Reach::kEcho;
    });
  }

  // It gave up waiting, or was ended for that: who waits for another did not bring the job down.
  bool explain_by_own_wait(std::size_t i, std::size_t member) {
    for (const std::optional<std::size_t>& waited : {wait_of_[member], making_of_[member]}) {
      if (!waited) continue;
      const auto root = model_.root_of(*waited);
      if (waited == making_of_[member] && root == *waited) continue;
      if (explain(i, waited, How::kEndedBy)) return true;
    }
    for (const auto stuck : stuck_of_[member])
      if (explain(i, stuck, How::kEndedBy)) return true;
    return waits_for_.inside.contains(member) && explain(i, first_sink_, How::kEndedBy);
  }

  // Those of a node that dies go together, within what is known of their ends.
  bool may_follow(std::size_t first, std::size_t later) const {
    const std::size_t one = *model_.observations[first].member,
                      other = *model_.observations[later].member;
    if (model_.ends[one].together && model_.ends[other].together) return false;
    const Span when =
        model_.observations[first].when.widened(between_ends(picture_, model_.ends, one, other));
    return when.surely_before(model_.observations[later].when);
  }

  // Others wait for a neighbour of who is idle, and that one ended of itself with a failure: the
  // idle one waited for it inside their node, or not at all.
  bool explain_by_neighbour(std::size_t i, const Sink& idle) {
    for (const auto member : picture_.host_of(idle.members.front()).members)
      if (sinks_of_.contains(member) && end_of_[member] &&
          is_failed_exit(*picture_.members[member].log) &&
          std::find(idle.members.begin(), idle.members.end(), member) == idle.members.end() &&
          explain(i, end_of_[member], How::kFollowsFrom))
        return true;
    return false;
  }
  static bool is_down(const Failure& sign) {
    return sign.told->cause == nccl_net_diag::cause_id(nccl_net_diag::Cause::kAsyncPort);
  }
  // Of a port that went as others began to wait; who had used it may have left no log.
  std::optional<std::size_t> down_at_first_wait() const {
    if (!missing_ || model_.waits.waits.empty()) return std::nullopt;
    const Ns began = model_.waits.waits.front().since;
    for (const auto& [place, sign] : signs_)
      if (const Ns at = model_.observations[sign].when.from;
          !model_.observations[sign].by && is_down(failure(sign)) && at <= began + kTogether &&
          began <= at + kTogether)
        return sign;
    return std::nullopt;
  }

  void relate_sink(std::size_t i) {
    const Sink& one = sink(i);
    const auto each = one.members;
    if (one.kind == Sink::Kind::kDied || one.kind == Sink::Kind::kLeft) {
      explain(i, end_of_[each.front()], How::kSameAs);
      return;
    }
    if (one.kind == Sink::Kind::kStopped || one.kind == Sink::Kind::kNotCome) return;
    const bool sure = one.apart || (one.kind != Sink::Kind::kIdle && is_known(one.kind));
    if (!sure && explain(i, down_at_first_wait_, How::kFollowsFrom)) return;
    if (one.kind == Sink::Kind::kNoLog) {
      explain(i, missing_, How::kSameAs);
      return;
    }
    if (one.kind == Sink::Kind::kNetwork) {
      for (const auto stuck : stuck_of_[each.front()])
        if (explain(i, stuck, How::kSameAs)) return;
      return;
    }
    if (one.kind == Sink::Kind::kIdle && !one.apart && explain_by_neighbour(i, one)) return;
    // Who failed, or is gone, comes no further.
    for (const auto member : each) {
      const auto own = first_failure_.find(member);
      if (own != first_failure_.end() && explain(i, own->second, How::kFollowsFrom)) return;
      if (const auto end = plain_end_of(member);
          end && one.kind != Sink::Kind::kMismatched && !model_.observations[*end].by &&
          model_.observations[*end].when.from <= one.since + kTogether &&
          explain(i, end, How::kFollowsFrom))
        return;
    }
    // Somebody else went before it became late, and all are late for that.
    if (const auto first = first_end();
        first && model_.observations[*first].when.to <= one.late_since() + kTogether &&
        one.kind != Sink::Kind::kMismatched && explain(i, first, How::kFollowsFrom))
      return;
    if (!is_known(one.kind))
      if (const auto failed = first_root_failure()) explain(i, failed, How::kFollowsFrom);
  }

  Model& model_;
  const Picture& picture_;
  // By process.
  std::vector<std::optional<std::size_t>> end_of_, wait_of_, making_of_;
  std::vector<std::vector<std::size_t>> stuck_of_;
  std::map<std::size_t, std::size_t> first_failure_, local_failure_;
  std::unordered_map<std::size_t, std::vector<std::size_t>> sinks_of_;
  std::map<PlaceKey, std::size_t> signs_;  // the first of each HCA
  std::unordered_map<std::string, std::size_t> hosts_;
  WaitsFor waits_for_;
  std::vector<Ns> end_times_;
  std::optional<std::size_t> missing_, first_sink_, down_at_first_wait_;
  First end_, death_, failed_exit_, root_failure_;
};

}  // namespace

void relate(Model& model, const Picture& picture) { Relations(model, picture).relate(); }

}  // namespace nnd::report
