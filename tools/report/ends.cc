#include "report/ends.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include "report/clocks.h"
#include "report/collectives.h"
#include "report/done.h"
#include "report/gone.h"
#include "report/model.h"

namespace nnd::report {

namespace {

constexpr Ns kPace = 100'000'000;  // of a box
constexpr Ns kSameMoment = 100'000'000;
constexpr Ns kMoment = 1'000'000'000;
constexpr Ns kAllAtOnce = 30'000'000;
constexpr double kLongUs = 2e6;
constexpr Ns kAskedInVain = 3'000'000'000;
// The last of a job has been asked to end when the first has ended.
constexpr Ns kSignalsTake = 25'000'000;
// Who is in the middle sees that it is to end when what it is in is over.
constexpr Ns kStepTakes = 300'000'000;

// It has requests under way that were not answered.
bool asks(const Box& box) {
  return std::any_of(box.conns.begin(), box.conns.end(),
                     [](const auto& slot) { return slot.started > slot.completed + slot.failed; });
}

// Who was ended after that, or ended its communicators for that, by a watchdog mostly, waited for
// somebody, or for the network.
bool waited(const Picture& picture, std::size_t index) {
  const Member& member = picture.members[index];
  if (member.ending != Ending::kDied || member.box->asked_ns == 0) return false;
  const Ns in_vain = picture.at(index, member.box->asked_ns) + kAskedInVain;
  if (in_vain <= member.last && asks(*member.box)) return true;
  const auto& all = member.log->connections;
  return std::any_of(all.begin(), all.end(), [&](const auto& one) {
    const log::Connection& closed = one.second;
    return closed.in_flight.value_or(0) != 0 && closed.closed_ns != 0 &&
           in_vain <= picture.at(index, closed.closed_ns);
  });
}

// It had asked for something and got no answer for long, or nobody tells for how long.
bool waited_to_the_end(const log::Process& process) {
  std::uint64_t given_up = 0;
  for (const auto& [number, one] : process.connections) {
    const std::uint64_t in_flight = one.in_flight.value_or(0);
    given_up += in_flight;
    if (in_flight != 0 && one.oldest_us.value_or(kLongUs) >= kLongUs) return true;
  }
  return process.summary->pending > given_up &&
         process.summary->oldest_us.value_or(kLongUs) >= kLongUs;
}

// CLOCK_MONOTONIC: a program that fails is gone for the others when it begins to abort its last
// communicator; 0: it did not.
std::uint64_t gave_up_ns(const log::Process& process) {
  if (!tells_of_failure(process) || process.summary->communicators != 0) return 0;
  std::uint64_t last = 0;
  for (const auto& [comm, one] : process.communicators) {
    if (one.closed_ns == 0) return 0;
    last = std::max(last, one.closed_ns);
  }
  // To abort it takes a while: its connections are closed first.
  std::uint64_t began = last;
  for (const auto& [number, one] : process.connections)
    if (one.closed_ns != 0 && one.closed_ns + kMoment >= last)
      began = std::min(began, one.closed_ns);
  return began;
}

End end_of(const Picture& picture, std::size_t index) {
  const Member& member = picture.members[index];
  End out;
  out.when = {member.last, member.last};
  if (member.ending == Ending::kClean) {
    out.kind = End::Kind::kLeft;
    if (const auto at = gave_up_ns(*member.log); at != 0)
      out.when.from = out.when.to = picture.at(index, at);
  }
  if (member.ending == Ending::kDied) {
    out.kind = End::Kind::kDied;
    out.when.to += tick_of(member);
  }
  return out;
}

// Calls take(peer, at, for_long) for each request that was left unanswered, with when that was
// seen, and whether it may have been for seconds.
template <typename Take>
void for_each_unanswered(const Picture& picture, const Take& take) {
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const Member& member = picture.members[i];
    for (const auto& [number, connection] : member.log->connections)
      if (connection.in_flight.value_or(0) != 0 && connection.closed_ns != 0)
        if (const auto peer = picture.peer_of(i, connection.peer, number, connection.link))
          take(*peer, picture.at(i, connection.closed_ns),
               connection.oldest_us.value_or(kLongUs) >= kLongUs);
    if (member.box == nullptr || member.ending == Ending::kClean) continue;
    for (const auto& slot : member.box->conns) {
      if (slot.started <= slot.completed + slot.failed || slot.conn == 0) continue;
      const auto connection = member.log->connections.find(slot.conn);
      if (connection == member.log->connections.end() || connection->second.closed) continue;
      if (const auto peer =
              picture.peer_of(i, connection->second.peer, slot.conn, connection->second.link))
        take(*peer, member.last, true);
    }
  }
}

class Ends {
 public:
  Ends(const Picture& picture, const std::vector<Failure>& failures, const std::vector<Wait>& open)
      : picture_(picture), failures_(failures), open_(open) {
    for (std::size_t i = 0; i < picture.members.size(); ++i) {
      out_.push_back(end_of(picture, i));
      out_.back().waited = waited(picture, i);
    }
  }

  std::vector<End> all() {
    find_latest_waits();
    add_cut_off();
    add_signs_of_life();
    add_closed_by_peers();
    add_closed_beside_the_network();
    for (std::size_t i = 0; i < failures_.size(); ++i) add_failure(i);
    for_each_unanswered(picture_, [&](std::size_t peer, Ns at, bool) { miss(peer, peer, at); });
    for (const auto& wait : open_)
      if (wait.peer && !wait.is_for_nobody() && !are_asked_together(*wait.peer, wait.member))
        miss(*wait.peer, wait.member, picture_.members[wait.member].last);
    const auto done = done_ones(picture_, out_);
    for (const auto i : done) out_[i].done = true;
    add_abrupt();
    for (const auto i : done) out_[i].missed = out_[i].together = false;
    add_failed_exits();
    return std::move(out_);
  }

 private:
  // At that time it did not answer any more, as far as its end is not later.
  bool miss(std::size_t member, std::size_t by, Ns at) {
    End& end = out_[member];
    if (!end.ended() || at + apart(picture_, member, by) < end.when.from) return false;
    end.missed = end.needed = true;
    if (end.kind == End::Kind::kDied)
      end.when.to = std::max(end.when.from, std::min(end.when.to, at));
    return true;
  }

  void add_failure(std::size_t i) {
    const Failure& failure = failures_[i];
    if (!can_follow_a_death(failure)) return;
    if (!failure.peer) return add_failure_towards_host(i);
    if (!miss(*failure.peer, failure.member, failure.gone_by())) return;
    End& end = out_[*failure.peer];
    if (is_compared(failure.member, *failure.peer) ||
        failure.gone_by() + kSameMoment >= end.when.from)
      end.failed_towards = true;
    else if (!end.failed_before)
      end.failed_before = i;
  }
  void add_failure_towards_host(std::size_t i) {
    const Failure& failure = failures_[i];
    for (const auto& host : picture_.hosts) {
      if (host.name != failure.there.host) continue;
      for (const auto member : host.members) {
        End& end = out_[member];
        if (end.kind == End::Kind::kDied && !is_compared(failure.member, member) &&
            failure.at + kSameMoment < end.when.from && !end.failed_before)
          end.failed_before = i;
      }
    }
  }
  bool is_compared(std::size_t one, std::size_t other) const {
    return clocks_apart(picture_, one, other) < kUncompared;
  }

  // What came from a process is a sign of life: its box may be written late on a busy machine.
  void add_signs_of_life() {
    for (std::size_t i = 0; i < picture_.members.size(); ++i) {
      const Member& member = picture_.members[i];
      if (out_[i].kind == End::Kind::kDied && member.silent > 0) {
        out_[i].when.from = member.last + member.silent;
        out_[i].when.to = std::max(out_[i].when.to, out_[i].when.from + tick_of(member));
      }
      if (member.box == nullptr) continue;
      for (const auto& [number, mono_ns] : member.box->came) {
        const auto connection = member.log->connections.find(number);
        if (connection == member.log->connections.end()) continue;
        const auto peer =
            picture_.peer_of(i, connection->second.peer, number, connection->second.link);
        if (!peer || out_[*peer].kind != End::Kind::kDied) continue;
        Span& when = out_[*peer].when;
        const Ns at = picture_.at(i, mono_ns) - apart(picture_, i, *peer);
        if (at <= when.from) continue;
        when.from = at;
        when.to = std::max(when.to, at + tick_of(picture_.members[*peer]));
      }
    }
  }

  // The kernel of the peer's node closes what an ended process had.
  void add_closed_by_peers() {
    for (std::size_t i = 0; i < picture_.members.size(); ++i)
      for (const log::Stall& stall : picture_.members[i].log->stalls) {
        if (stall.peer_tcp != "closed") continue;
        const auto peer = picture_.peer_of(i, stall.told.peer, stall.told.conn, stall.link);
        if (peer && miss(*peer, i, picture_.at(i, stall.told.mono_ns)))
          out_[*peer].failed_towards = true;
      }
  }

  void add_closed_beside_the_network() {
    for (const Gone& one : gone_of(picture_, out_)) {
      for (const auto& [member, other] : one.after) out_[member].after = other;
      End& end = out_[one.who];
      end.closed_for = one.seen_by;
      end.died_then = died_with(one);
      end.missed = end.failed_towards = true;
      end.when = {std::min(end.when.from, one.at), std::min(end.when.to, one.at)};
    }
  }

  // Who aborts its communicator closes its connections itself, and lives on.
  bool died_with(const Gone& one) const {
    const Member& member = picture_.members[one.who];
    const auto& all = member.log->connections;
    return member.ending == Ending::kDied &&
           member.last <= one.at + apart(picture_, one.who, one.seen_by) &&
           std::none_of(all.begin(), all.end(), [&](const auto& own) {
             const auto closed_ns = own.second.closed_ns;
             return closed_ns != 0 && picture_.at(one.who, closed_ns) + kMoment >= one.at;
           });
  }

  // A process that ends by itself in the middle, with its communicators as they are, is missed
  // where others are ended after it: by a launcher, mostly. Where few are, it is they that went.
  void add_abrupt() {
    std::size_t died = 0, left = 0;
    Ns last_death = 0;
    for (const auto& end : out_) {
      left += end.kind == End::Kind::kLeft;
      if (end.kind != End::Kind::kDied) continue;
      ++died;
      last_death = std::max(last_death, end.when.from);
    }
    const bool others_died = died != 0 && died >= left;
    std::vector<std::size_t> first;
    const Ns earliest = first_end();
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (out_[i].kind != End::Kind::kLeft) continue;
      if (out_[i].when.from <= earliest + kUncompared) first.push_back(i);
      const auto& log = *picture_.members[i].log;
      const bool others_ended = others_died && out_[i].when.from <= last_death + kTick;
      const bool gone = others_ended
                            ? is_abrupt(log) || is_failed_exit(log)
                            : is_abrupt(log) && (keeps_others_waiting(i) || called_less(log) ||
                                                 is_asked_for_in_vain(i));
      if (gone && !was_asked(i)) out_[i].missed = true;
    }
    if (const auto one = surely_first(); one && out_[*one].kind == End::Kind::kLeft) {
      const log::Process& log = *picture_.members[*one].log;
      const bool needed = others_need(*one) || keeps_others_waiting(*one) || called_less(log);
      if (was_asked(*one) ? went_before_the_rest(*one) && (needed || others_lived_on(*one))
                          : needed && is_abrupt(log) && others_were_ended(*one))
        out_[*one].missed = true;
    }
    for (const auto i : left_together()) out_[i].missed = out_[i].together = true;
    if (all_failed_at_once())
      for (End& end : out_) {
        end.missed = end.together = true;
        end.closed_for.reset();
        end.after.reset();
      }
    constexpr std::size_t kFew = 64;
    if (first.size() > kFew) return;
    for (const auto i : first) out_[i].missed = out_[i].missed || is_outlived(i);
  }
  // Where nobody was missed, whoever says by its exit status that it failed.
  void add_failed_exits() {
    if (std::any_of(out_.begin(), out_.end(),
                    [](const End& end) { return end.kind == End::Kind::kDied || end.missed; }))
      return;
    const auto first = surely_first();
    for (std::size_t i = 0; i < out_.size(); ++i) {
      const log::Process& log = *picture_.members[i].log;
      out_[i].failed =
          is_failed_exit(log) || (first == i && tells_of_failure(log) && went_before_the_rest(i));
    }
    if (std::any_of(out_.begin(), out_.end(), [](const End& end) { return end.failed; })) return;
    // With requests under way, of which it may have failed.
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (tells_of_failure(*picture_.members[i].log) && !was_asked(i))
        out_[i].failed = out_[i].waited = true;
  }
  // Who waited for others did not go by itself where it may have been asked to. Nor is it known of
  // one that was in the middle, as they were, and ended a moment before them.
  bool went_before_the_rest(std::size_t first) const {
    return !waited_to_the_end(*picture_.members[first].log) &&
           (!was_asked(first) || !is_busy(first) || others_lived_on(first, kStepTakes));
  }
  // Who had ended when all others still lived.
  std::optional<std::size_t> surely_first() const {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (out_[i].ended() && (!first || out_[i].when.from < out_[*first].when.from)) first = i;
    if (!first) return std::nullopt;
    const bool all_asked =
        was_asked(*first) && !any_other(*first, [&](std::size_t other) {
          return picture_.members[other].last >= out_[*first].when.from + kAskedTake;
        });
    const Ns spread = all_asked ? kSignalsTake + 2 * lateness() : 0;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      const Ns last = out_[i].ended() ? out_[i].when.from : picture_.members[i].last;
      if (i != *first &&
          last <= out_[*first].when.to + between_ends(picture_, out_, *first, i) + spread)
        return std::nullopt;
    }
    return first;
  }
  // By how much threads of this job ran later than they meant to, lately.
  Ns lateness() const {
    double longest_us = 0;
    for (const Member& one : picture_.members)
      if (one.log->summary)
        longest_us = std::max(longest_us, one.log->summary->longest_pause_us.value_or(0));
    constexpr double kMostUs = 1e6;  // whatever a log says
    return std::max<Ns>(0, static_cast<Ns>(std::min(longest_us, kMostUs) * 1000) - kPace);
  }
  // Processes of one node that failed within a moment, as where one aborts and takes its neighbour
  // with it, and everybody else lived on for longer than who is asked to end takes.
  std::vector<std::size_t> left_together() const {
    std::vector<std::size_t> out;
    const Ns until = first_end() + kUncompared;
    Ns last = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      const Member& one = picture_.members[i];
      if (out_[i].kind != End::Kind::kLeft || out_[i].when.from > until ||
          !tells_of_failure(*one.log))
        continue;
      if (!out.empty() && picture_.members[out.front()].host != one.host) return {};
      out.push_back(i);
      last = std::max(last, out_[i].when.from);
    }
    if (out.size() < 2 || 2 * out.size() >= out_.size()) return {};
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (!std::binary_search(out.begin(), out.end(), i) &&
          picture_.members[i].last < last + kAskedTake)
        return {};
    return out;
  }
  // Of one thing, as programs do that check their numbers: to follow from another's end takes
  // longer.
  bool all_failed_at_once() const {
    Ns last = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (out_[i].kind != End::Kind::kLeft || !tells_of_failure(*picture_.members[i].log) ||
          was_asked(i) || picture_.members[i].log->communicators.empty())
        return false;
      last = std::max(last, out_[i].when.from);
    }
    return out_.size() > 1 && last <= first_end() + kAllAtOnce;
  }
  // Others have called what it never will.
  bool called_less(const log::Process& process) {
    if (!most_called_) most_called_ = most_called(picture_);
    return std::any_of(process.communicators.begin(), process.communicators.end(),
                       [&](const auto& one) {
                         const auto most = most_called_->find(one.first);
                         return one.second.closed_ns == 0 && most != most_called_->end() &&
                                most->second > one.second.given;
                       });
  }
  // Others began to wait as it went.
  bool keeps_others_waiting(std::size_t member) const {
    return std::any_of(latest_.begin(), latest_.end(), [&](const Wait* wait) {
      return wait->member != member && wait->since + kMoment >= out_[member].when.from;
    });
  }
  // Another one came to where it had listened, and lived on: to meet it there.
  bool is_asked_for_in_vain(std::size_t member) const {
    return any_other(member, [&](std::size_t other) {
      const Member& one = picture_.members[other];
      return std::any_of(one.log->closed.begin(), one.log->closed.end(), [&](const auto& closed) {
        const Ns at = picture_.at(other, closed.mono_ns);
        return closed.refused && at + apart(picture_, member, other) >= out_[member].when.from &&
               at + kMoment <= one.last && picture_.listener_at(other, closed.address) == member;
      });
    });
  }
  // Of two processes, as one may be that which is asked about.
  void find_latest_waits() {
    for (const Wait& wait : open_) {
      if (!is_for_peer(wait.stall->kind)) continue;
      const auto own = std::find_if(latest_.begin(), latest_.end(),
                                    [&](const Wait* one) { return one->member == wait.member; });
      if (own == latest_.end())
        latest_.push_back(&wait);
      else if ((*own)->since < wait.since)
        *own = &wait;
      std::sort(latest_.begin(), latest_.end(),
                [](const Wait* one, const Wait* other) { return one->since > other->since; });
      if (latest_.size() > 2) latest_.pop_back();
    }
  }
  Ns first_end() const {
    Ns out = picture_.last;
    for (const auto& end : out_)
      if (end.ended()) out = std::min(out, end.when.from);
    return out;
  }
  static bool is_abrupt(const log::Process& process) {
    if (process.summary->communicators != 0) return true;
    // Whose ranks had met, and of which nothing tells that it was closed or ever used.
    if (process.met_ns != 0 && process.communicators.empty() && process.connections.empty())
      return true;
    return std::any_of(process.connections.begin(), process.connections.end(), [](const auto& one) {
      return one.second.ready_ns != 0 && !one.second.closed;
    });
  }

  // Where a launcher asks all the others to end, and they do so in good order, they have requests
  // under way that this one was done with. It went in the first place, and few did.
  bool is_outlived(std::size_t i) const {
    const Ns at = out_[i].when.from;
    std::size_t before = 0, with_it = 0, after = 0, busy = 0, lived_on = 0;
    for (std::size_t other = 0; other < out_.size(); ++other) {
      if (other == i) continue;
      const End& end = out_[other];
      const Ns last = end.ended() ? end.when.from : picture_.members[other].last;
      const Ns slack = apart(picture_, i, other);
      if (last > at + slack)
        ++after;
      else if (end.ended())
        ++(last + slack < at ? before : with_it);
      busy += last > at + slack && end.ended() && is_busy(other);
      lived_on += picture_.members[other].ending == Ending::kCutOff && last > at + kUncompared;
    }
    if (before != 0 || with_it >= after) return false;
    if (busy != 0 && !is_busy(i)) return true;
    if (!is_abrupt(*picture_.members[i].log)) return false;
    return lived_on != 0 ||
           (picture_.members[i].log->summary->exit_status.value_or(0) != 0 && !was_asked(i));
  }
  bool was_asked(std::size_t member) const {
    return out_[member].kind == End::Kind::kLeft && was_ended(picture_.members[member]);
  }
  // Whoever waits for another is ended with it where all are asked to end.
  bool are_asked_together(std::size_t peer, std::size_t waiting) const {
    return was_asked(peer) && picture_.members[waiting].last < out_[peer].when.from + kAskedTake;
  }
  template <typename Is>
  bool any_other(std::size_t member, const Is& is) const {
    for (std::size_t other = 0; other < out_.size(); ++other)
      if (other != member && is(other)) return true;
    return false;
  }
  bool others_were_ended(std::size_t member) const {
    return !any_other(member,
                      [&](std::size_t other) { return !was_ended(picture_.members[other]); });
  }
  // By default for longer than who is asked to end takes.
  bool others_lived_on(std::size_t member, Ns longer = kAskedTake) const {
    const Ns until = out_[member].when.from + longer;
    return out_.size() > 1 && !any_other(member, [&](std::size_t other) {
             return picture_.members[other].last < until;
           });
  }
  // Others had asked for something at their end, or made a communicator.
  bool others_need(std::size_t member) const {
    return any_other(member, [&](std::size_t other) {
      const Member& one = picture_.members[other];
      return is_busy(other) || is_being_made(one) || one.log->making;
    });
  }
  // It was in the middle, with requests that were not answered.
  bool is_busy(std::size_t member) const {
    const Member& one = picture_.members[member];
    if (one.log->summary) return one.log->summary->pending != 0 && is_abrupt(*one.log);
    return one.box != nullptr && asks(*one.box);
  }

  // A quiet process writes nothing for minutes: that its log just ends says something only where
  // others have ended and miss it; and a log may have been cut off when it was collected, which
  // explains fewer failures than a cable does that others share.
  void add_cut_off() {
    if (std::none_of(out_.begin(), out_.end(), [](const End& end) { return end.ended(); })) return;
    std::vector<std::size_t> missed_by(out_.size());
    std::size_t explained = 0, rest = 0;
    for (const auto& failure : failures_) {
      if (failure.warned || failure.recovered || failure.reach == Reach::kEcho) continue;
      const bool towards = failure.peer && may_be_gone(*failure.peer) &&
                           can_follow_a_death(failure) &&
                           picture_.members[*failure.peer].last <=
                               failure.gone_by() + apart(picture_, *failure.peer, failure.member);
      if (towards)
        ++missed_by[*failure.peer];
      else if (!failed_.contains(failure.member))
        ++rest;
      explained += towards;
      failed_.insert(failure.member);
    }
    if (failures_.empty())
      for_each_unanswered(picture_, [&](std::size_t peer, Ns at, bool for_long) {
        if (!for_long || !may_be_gone(peer) || picture_.members[peer].last > at) return;
        ++missed_by[peer];
        ++explained;
      });
    if (explained <= rest) return;
    std::set<std::size_t> hosts;  // all of a node go together
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (missed_by[i] != 0) hosts.insert(picture_.members[i].host);
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (may_be_gone(i) && hosts.contains(picture_.members[i].host)) {
        out_[i].kind = End::Kind::kDied;
        out_[i].sure = !picture_.members[i].log->cut_off;
        out_[i].when.to = picture_.last;
      }
  }
  bool may_be_gone(std::size_t member) const {
    const Member& one = picture_.members[member];
    return one.ending == Ending::kCutOff && one.last + kUncompared < picture_.last;
  }

  const Picture& picture_;
  const std::vector<Failure>& failures_;
  const std::vector<Wait>& open_;
  std::vector<End> out_;
  std::set<std::size_t> failed_;
  std::optional<std::map<std::string, std::uint64_t>> most_called_;
  std::vector<const Wait*> latest_;  // that began last
};

}  // namespace

bool tells_of_failure(const log::Process& process) {
  constexpr int kBySignal = 128;  // and its number: asked to end, which the program heeds
  const int status = process.summary ? process.summary->exit_status.value_or(0) : 0;
  return status > 0 && status < kBySignal;
}

bool says_it_was_asked(const log::Process& process) {
  constexpr int kBySigint = 128 + SIGINT, kBySigterm = 128 + SIGTERM;
  const int status = process.summary ? process.summary->exit_status.value_or(0) : 0;
  return status == kBySigint || status == kBySigterm;
}

bool was_ended(const Member& member) {
  return member.ending == Ending::kDied || says_it_was_asked(*member.log) ||
         (tells_of_failure(*member.log) && member.log->summary->catches_sigterm);
}

bool is_failed_exit(const log::Process& process) {
  return tells_of_failure(process) && !process.summary->catches_sigterm &&
         process.summary->pending == 0 &&
         std::none_of(process.connections.begin(), process.connections.end(),
                      [](const auto& one) { return one.second.in_flight.value_or(0) != 0; });
}

Ns tick_of(const Member& member) {
  const std::uint64_t pause = member.box == nullptr ? 0 : member.box->pause_ns;
  constexpr std::uint64_t kLongestPause = kTick;
  return pause == 0 ? kTick
                    : std::min(kTick, static_cast<Ns>(std::min(pause, kLongestPause) / 2 * 3));
}

Ns apart(const Picture& picture, std::size_t one, std::size_t other) {
  return std::min(kSameMoment + clocks_apart(picture, one, other), kUncompared);
}

Ns between_ends(const Picture& picture, const std::vector<End>& ends, std::size_t one,
                std::size_t other) {
  constexpr Ns kExact = 5'000'000;
  if (ends[one].kind != ends[other].kind) return apart(picture, one, other);
  return (ends[one].kind == End::Kind::kLeft ? kExact : 0) + clocks_apart(picture, one, other);
}

std::vector<End> ends_of(const Picture& picture, const std::vector<Failure>& failures,
                         const std::vector<Wait>& open) {
  return Ends(picture, failures, open).all();
}

}  // namespace nnd::report
