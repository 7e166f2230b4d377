// Which connections don't know yet whose they are. Only the profiler API tells, step by step, and
// it tells no more than its activation mask says: raised while somebody wants a label, lowered
// while nobody does. The data path asks; nothing here waits.
#pragma once

#include <atomic>
#include <cstdint>

#include "state/connection.h"

namespace nnd::state {

// With which the net layer asks NCCL to tell the profiler layer of a connection: an id of a net
// plugin's own events, as NCCL has them (kind << 16 | version; 1 and 2 are its own transports').
inline constexpr std::int64_t kLabelEvent = 0x4e44 << 16 | 1;

struct Labelling {
  std::atomic<bool> active{false};     // our profiler layer is the one that NCCL calls
  std::atomic<bool> by_handle{false};  // NCCL's handle of a step leads to it; else the call order
  std::atomic<int*> mask{nullptr};     // NCCL's
  std::atomic<int> low{0}, high{0};
  std::atomic<int> other{0};  // what another profiler wants besides, which ours calls
  std::atomic<std::int32_t> wanting{0};
  std::atomic<bool> sampling{false};
  std::atomic<int> looks_to_expect{0};  // how long requests on new connections are expected
};
extern constinit Labelling g_labelling;

inline bool labelling() noexcept { return g_labelling.active.load(std::memory_order_relaxed); }
inline bool labels_are_joined() noexcept {
  return !g_labelling.by_handle.load(std::memory_order_relaxed);
}
inline bool somebody_wants_a_label() noexcept {
  return g_labelling.wanting.load(std::memory_order_relaxed) > 0;
}

// The mask as it is to be now.
void set_mask() noexcept;
void follow_other(int mask) noexcept;

// The next task's steps are to be told, to see where their time goes; and it has come.
void sample_a_task() noexcept;
void end_sample() noexcept;

// A connection was made. NCCL copies the mask into each task when it is called, before any request
// of it, so it is raised already until the watch has looked twice.
void expect_requests() noexcept;
void look_at_expected() noexcept;

// A request was posted on a connection without a label.
void want_label(Connection& c) noexcept;
// The connection's own thread has it.
void set_labels(Connection& c, const Labels& labels) noexcept;
// It is gone.
void give_label_up(Connection& c) noexcept;

// Where labels are joined: the connection of the last request that this thread posted, until the
// thread hears anything else from the profiler. Null: none.
Connection*& last_posted() noexcept;

// In a forked child.
void forget_labelling() noexcept;

}  // namespace nnd::state
