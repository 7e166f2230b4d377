// What one connection waits for, judged from what changed between two looks at it. Reads the table
// of connections and nothing else: what takes more is found elsewhere, namely tcp, metadata,
// held-back and stuck-flush in closer.h, not-asked and that the whole process is idle in watch.cc,
// slow in slow_sends.h.
#pragma once

#include <cstdint>
#include <optional>

#include "diagnosis/stall.h"
#include "state/connection.h"

namespace nnd::watch {

using diagnosis::Wait;

// A connection as one look found it.
struct Sample {
  std::uint32_t id = 0;
  state::ConnectionKind kind = state::ConnectionKind::kNone;
  state::Stage stage = state::Stage::kFree;
  bool in_call = false;
  bool moving = false;  // inside ibv_modify_qp, or between its attempts
  std::uint64_t polls = 0;
  std::uint64_t started = 0, ended = 0;  // requests; ended: completed or failed
  std::uint64_t not_taken = 0;

  std::uint64_t in_flight() const { return started - ended; }
};
Sample sample(const state::Connection& c) noexcept;

// What is remembered of a connection from look to look. Times are the watch's own.
struct WaitHistory {
  Sample last;
  std::uint64_t since_ns = 0;   // nothing has moved since
  std::uint64_t polled_ns = 0;  // NCCL was last seen to ask for it, while it is made
  // Likewise, whether what is in flight is done; 0: that was not looked at.
  std::uint64_t asked_ns = 0;
  std::optional<Wait> wait;  // none: it moves
  std::optional<Wait> told;  // what a line said of it; none: no line did
  bool who_told = false;     // a line said whose it is
  // What kernel and HCA say of the wait, and how old it was when they were asked.
  Wait closer = Wait::kIdle;
  std::uint64_t closer_at_ns = 0;  // 0: they were not
};

// How a look changed it.
struct Change {
  bool ready = false;  // NCCL has it now
  bool moved = false;  // what was waited for came: something completed, or it is a stage further
  std::uint64_t waited_ns = 0;
};

// `connect_ns`: the age from which a connection that is being made counts as stalled.
Change update(WaitHistory& history, const Sample& now, std::uint64_t now_ns,
              std::uint64_t connect_ns) noexcept;

}  // namespace nnd::watch
