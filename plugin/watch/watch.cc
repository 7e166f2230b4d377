#include "watch/watch.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "facts/counters.h"
#include "facts/own_sockets.h"
#include "peers/channel.h"
#include "state/connections.h"
#include "watch/closer.h"
#include "watch/stall_events.h"

namespace nnd::watch {

namespace {

constexpr std::uint64_t kCountersEveryNs = 2'000'000'000, kCountersMayBeOldNs = 1'000'000'000;

// The ages of the lines, in those of the first: 1, 3, 12, then twice as old each time.
std::uint64_t times(unsigned told) noexcept {
  if (told == 0) return 1;
  return told == 1 ? 3 : std::uint64_t{12} << std::min(told - 2, 32u);
}

// The next line's, where the one that is due is of this age.
unsigned told_at(unsigned told, std::uint64_t first_ns, std::uint64_t age_ns) noexcept {
  while (age_ns >= times(told) * first_ns) ++told;
  return told;
}

}  // namespace

std::uint64_t Ages::period_ns() const {
  return std::clamp<std::uint64_t>(std::min(connect_ns, stall_ns) / 5, 10'000'000, 1'000'000'000);
}

Watch::Watch(Ages ages)
    : ages_(ages),
      collector_(std::min<std::uint64_t>(ages.stall_ns / 5, 1'000'000'000),
                 static_cast<double>(ages.stall_ns) / static_cast<double>(ages.connect_ns)) {}

// A process that was stopped, or had no processor, did not wait for its peers meanwhile.
std::uint64_t Watch::advance(std::uint64_t mono_ns) {
  const std::uint64_t passed = last_mono_ns_ == 0 ? 0 : mono_ns - last_mono_ns_;
  last_mono_ns_ = mono_ns;
  const std::uint64_t most = 3 * ages_.period_ns();
  return now_ns_ += passed <= most ? passed : ages_.period_ns();
}

void Watch::look(std::uint64_t mono_ns) {
  const std::lock_guard guard(mutex_);
  const std::uint64_t now_ns = advance(mono_ns);
  waiting_ = {};
  moving_ = 0;
  any_failed_ = needs_counters_ = false;
  last_move_ns_ = 0;
  tcp_.reset();
  for (auto& [key, one] : classes_) {
    one.members.clear();
    one.oldest = {};
  }
  const std::size_t places = state::entries_used();
  if (histories_.size() < places) histories_.resize(places);
  collector_.begin();
  for (std::size_t place = 0; place < places; ++place)
    if (state::Connection* const c = state::entry_at(place); c != nullptr)
      look_at(*c, histories_[place], now_ns);
  // So that who fails needn't look for them.
  if (last_ready_ns_ == now_ns) facts::find_own_sockets();
  // So that they are there when it is told.
  if (needs_counters_ && now_ns - counters_at_ns_ >= kCountersEveryNs) {
    counters_at_ns_ = now_ns;
    facts::need_counters(now_ns - std::min(now_ns, kCountersMayBeOldNs));
  }
  if (peers::wanted()) own_ = collector_.end(mono_ns);
}

void Watch::tell() {
  const std::lock_guard guard(mutex_);
  tell_resumed();
  tell_old();
  look_at_process(now_ns_);
  look_at_pace(now_ns_);
}

void Watch::look_at(state::Connection& c, WaitHistory& history, std::uint64_t now_ns) {
  const Sample now = sample(c);
  if (now.kind == state::ConnectionKind::kListen) return;
  any_failed_ = any_failed_ || now.stage == state::Stage::kFailed;
  const Change change = update(history, now, now_ns, ages_.connect_ns);
  if (change.ready) last_ready_ns_ = now_ns;
  if (!history.who_told) history.who_told = tell_who(c);
  if (change.ready || change.moved || !history.wait) {
    if (history.told && (change.ready || change.moved)) {
      Resumed& resumed =
          resumed_[{*history.told, now.kind == state::ConnectionKind::kSend, place_of(c)}];
      ++resumed.connections;
      if (change.waited_ns >= resumed.waited_ns) resumed.oldest = &c;
      resumed.waited_ns = std::max(resumed.waited_ns, change.waited_ns);
    }
    history.told.reset();
  }
  if (change.ready || change.moved || !history.wait) collector_.note_motion();
  if (now.ended != 0) collector_.note_work();
  if (!history.wait) return;
  const std::uint64_t age_ns = now_ns - history.since_ns;
  note_asked(c, history, age_ns);
  if (peers::wanted())
    collector_.take(c, history, age_ns,
                    history.asked_ns != 0 && now_ns - history.asked_ns <= 2 * ages_.period_ns());
  last_move_ns_ = std::max(last_move_ns_, history.since_ns);
  needs_counters_ =
      needs_counters_ || (!diagnosis::being_made(*history.wait) && *history.wait != Wait::kIdle &&
                          2 * age_ns >= ages_.of(*history.wait));
  if (*history.wait == Wait::kIdle)
    ++waiting_[static_cast<std::size_t>(Wait::kIdle)];
  else if (age_ns >= ages_.of(*history.wait))
    take(c, history, age_ns);
  else
    ++moving_;
}

// Not while it moves: the first look after that only takes back what was asked before.
void Watch::note_asked(state::Connection& c, WaitHistory& history, std::uint64_t age_ns) {
  if (diagnosis::being_made(*history.wait) || history.last.in_flight() == 0 ||
      age_ns < ages_.period_ns()) {
    history.asked_ns = 0;
  } else if (state::take_asked(c) || history.asked_ns == 0) {
    history.asked_ns = now_ns_;
  }
}

// Asked again when it is as old as the next line. Who stops asking only after it was told has
// waited, and then given up.
Wait Watch::closer(state::Connection& c, WaitHistory& history, std::uint64_t age_ns) {
  const std::uint64_t first_ns = ages_.of(*history.wait);
  unsigned asked = 0;
  if (history.closer_at_ns != 0) asked = told_at(0, first_ns, history.closer_at_ns);
  if (age_ns < times(asked) * first_ns) return history.closer;
  const bool may_not_ask = history.closer_at_ns == 0 || history.closer == Wait::kNotAsked;
  history.closer_at_ns = age_ns;
  // A thread without a processor asks for nothing for a while as well.
  constexpr std::uint64_t kStarvedNs = 400'000'000;
  if (may_not_ask && history.asked_ns != 0 &&
      now_ns_ - history.asked_ns >= std::max(ages_.stall_ns / 2, kStarvedNs))
    return history.closer = Wait::kNotAsked;
  return history.closer = look_closer(c, *history.wait, tcp_);
}

void Watch::take(state::Connection& c, WaitHistory& history, std::uint64_t age_ns) {
  ClassKey key{closer(c, history, age_ns), history.last.kind == state::ConnectionKind::kSend,
               place_of(c)};
  if (const auto failure = known_of(c, key.wait)) key.failure = failure->number;
  ++waiting_[static_cast<std::size_t>(key.wait)];
  Class& all = classes_[key];
  const Member member{&c, &history, age_ns};
  all.members.push_back(member);
  if (all.oldest.connection == nullptr || age_ns > all.oldest.age_ns) all.oldest = member;
}

void Watch::tell_old() {
  const Census census{waiting_, moving_};
  for (auto at = classes_.begin(); at != classes_.end();) {
    auto& [key, one] = *at;
    const std::uint64_t first_ns = ages_.of(key.wait);
    if (one.members.empty()) {
      // Whoever waits anew is as old as this when it is told.
      at = now_ns_ - one.seen_ns >= first_ns ? classes_.erase(at) : std::next(at);
      continue;
    }
    ++at;
    one.seen_ns = now_ns_;
    Total& total = totals_[static_cast<std::size_t>(key.wait)];
    if (one.oldest.age_ns > total.longest_ns) {
      total.longest_ns = one.oldest.age_ns;
      total.place = key.place;
      total.peer = peer_of(*one.oldest.connection);
    }
    if (one.oldest.age_ns < times(one.told) * first_ns) continue;
    one.told = told_at(one.told, first_ns, one.oldest.age_ns);
    std::set<std::string> peers;
    for (const Member& member : one.members) {
      if (member.history->told != key.wait) ++total.connections;
      member.history->told = key.wait;
      peers.insert(peer_of(*member.connection));
    }
    const bool warned = tell_conn_stall(
        *one.oldest.connection,
        {key.wait, one.oldest.age_ns, one.members.size(), peers.size(), key.failure, any_failed_,
         one.oldest.age_ns >= times(1) * first_ns && now_ns_ - last_ready_ns_ >= first_ns},
        census, tcp_);
    total.warned = total.warned || warned;
  }
}

void Watch::tell_resumed() {
  for (const auto& [key, one] : resumed_)
    tell_resume(one.oldest, key.wait, one.connections, one.waited_ns);
  resumed_.clear();
}

// NCCL has connections and asks for nothing.
void Watch::look_at_process(std::uint64_t now_ns) {
  const std::uint64_t idle = waiting_[static_cast<std::size_t>(Wait::kIdle)];
  std::uint64_t all = moving_;
  for (const std::uint64_t count : waiting_) all += count;
  const std::uint64_t since_ns = idle == 0 || all != idle ? now_ns : last_move_ns_;
  if (since_ns > idle_since_ns_) {
    if (idle_told_ != 0) tell_resume(nullptr, Wait::kIdle, 0, since_ns - idle_since_ns_);
    idle_told_ = 0;
    idle_since_ns_ = since_ns;
  }
  const std::uint64_t age_ns = now_ns - idle_since_ns_;
  const std::uint64_t first_ns = ages_.of(Wait::kIdle);
  if (age_ns < times(idle_told_) * first_ns) return;
  idle_told_ = told_at(idle_told_, first_ns, age_ns);
  Total& total = totals_[static_cast<std::size_t>(Wait::kIdle)];
  total.longest_ns = std::max(total.longest_ns, age_ns);
  tell_idle(age_ns, {waiting_, moving_});
}

void Watch::look_at_pace(std::uint64_t now_ns) {
  const std::uint64_t window_ns = now_ns - paced_ns_;
  if (window_ns < ages_.stall_ns) return;
  paced_ns_ = now_ns;
  for (const SlowSendDetector::Slow& one : slow_sends_.judge(window_ns)) {
    if (!one.begins) {
      tell_resume(one.connection, Wait::kSlow, 1, 2 * ages_.stall_ns);
      continue;
    }
    Total& total = totals_[static_cast<std::size_t>(Wait::kSlow)];
    ++total.connections;
    total.longest_ns = std::max(total.longest_ns, 2 * ages_.stall_ns);
    total.place = place_of(*one.connection);
    total.peer = peer_of(*one.connection);
    tell_slow(*one.connection, one, 2 * ages_.stall_ns, {waiting_, moving_});
  }
}

Totals Watch::totals() {
  const std::lock_guard guard(mutex_);
  return totals_;
}

void Watch::forget() {
  const std::lock_guard guard(mutex_);
  histories_.clear();
  classes_.clear();
  resumed_.clear();
  collector_.forget();
  own_.reset();
  slow_sends_.forget();
  totals_ = {};
  now_ns_ = last_mono_ns_ = idle_since_ns_ = last_ready_ns_ = paced_ns_ = 0;
  idle_told_ = 0;
}

}  // namespace nnd::watch
