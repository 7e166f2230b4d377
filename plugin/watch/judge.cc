#include "watch/judge.h"

#include "context/memory_order.h"

namespace nnd::watch {

namespace {

using state::ConnectionKind;
using state::Stage;

using context::kRelaxed;

bool is_attempt(Stage stage) noexcept { return stage >= Stage::kOpening && stage < Stage::kReady; }

// What the peer owes us, by how far this end has come (ncclIbConnect and ncclIbAccept, v2.28.9-1
// src/transport/net_ib.cc: accept makes its QPs and moves them when it has the sender's, and only
// then is the sender told of them).
Wait for_peer(const Sample& now) noexcept {
  if (now.stage == Stage::kOpening)
    return now.kind == ConnectionKind::kSend ? Wait::kNotAccepted : Wait::kNotDialled;
  return now.kind == ConnectionKind::kSend && now.stage != Stage::kRts ? Wait::kQps : Wait::kReady;
}

Wait wait_of_attempt(const WaitHistory& history, const Sample& now, std::uint64_t unpolled_ns,
                     std::uint64_t connect_ns) noexcept {
  const bool same_call = now.in_call && history.last.in_call && now.polls == history.last.polls;
  if (same_call && (now.moving || history.last.moving)) return Wait::kModifyQp;
  if (unpolled_ns < connect_ns) return for_peer(now);
  return now.in_call ? Wait::kInCall : Wait::kNotPolled;
}

// Only what is in flight, or wanted, can wait.
Wait wait_of_traffic(const WaitHistory& history, const Sample& now) noexcept {
  if (now.in_flight() != 0)
    return now.kind == ConnectionKind::kSend ? Wait::kStuckSend : Wait::kNothingCame;
  const bool refused = now.not_taken != history.last.not_taken;
  return refused && now.kind == ConnectionKind::kSend ? Wait::kNoReceive : Wait::kIdle;
}

Change update_traffic(WaitHistory& history, const Sample& now, std::uint64_t now_ns) noexcept {
  Change change;
  const bool ended = now.ended != history.last.ended;
  const bool begun = now.started != history.last.started && history.last.in_flight() == 0;
  const Wait wait = wait_of_traffic(history, now);
  if (ended || begun || history.wait != wait) {
    const bool waited = history.wait && *history.wait != Wait::kIdle;
    change.moved = ended || (waited && now.started != history.last.started);
    change.waited_ns = now_ns - history.since_ns;
    history.since_ns = now_ns;
    history.closer_at_ns = 0;
  }
  history.wait = wait;
  return change;
}

}  // namespace

// The ends before the beginnings: a request that ends meanwhile is in flight, none is negative.
Sample sample(const state::Connection& c) noexcept {
  Sample now;
  now.ended =
      c.completed.load(std::memory_order_acquire) + c.failed.load(std::memory_order_acquire);
  now.started = c.started.load(kRelaxed);
  now.not_taken = c.not_taken.load(kRelaxed);
  now.id = c.id.load(kRelaxed);
  now.kind = c.kind.load(kRelaxed);
  now.stage = c.stage.load(kRelaxed);
  now.polls = c.polls.load(kRelaxed);
  now.in_call = c.in_call.load(kRelaxed);
  now.moving = c.moving_since.load(kRelaxed) != 0 || c.moving_attempt.load(kRelaxed) > 1;
  return now;
}

Change update(WaitHistory& history, const Sample& now, std::uint64_t now_ns,
              std::uint64_t connect_ns) noexcept {
  Change change;
  if (history.last.id != now.id) {
    history = {};
    history.since_ns = history.polled_ns = now_ns;
  } else if (is_attempt(history.last.stage) && now.stage == Stage::kReady) {
    change.ready = true;
    change.waited_ns = now_ns - history.since_ns;
    history.since_ns = now_ns;
    history.closer_at_ns = 0;
    history.wait.reset();
  } else if (is_attempt(now.stage) && now.stage != history.last.stage) {
    change.moved = true;  // the peer, or the kernel, did its part
    change.waited_ns = now_ns - history.since_ns;
    history.since_ns = now_ns;
    history.closer_at_ns = 0;
  }
  if (now.polls != history.last.polls) history.polled_ns = now_ns;
  if (is_attempt(now.stage)) {
    const Wait wait = wait_of_attempt(history, now, now_ns - history.polled_ns, connect_ns);
    if (history.wait != wait) history.closer_at_ns = 0;
    history.wait = wait;
  } else if (now.stage == Stage::kReady && now.id == history.last.id && !change.ready) {
    change = update_traffic(history, now, now_ns);
  } else {
    history.wait.reset();
  }
  history.last = now;
  return change;
}

}  // namespace nnd::watch
