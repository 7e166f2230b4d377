// The tasks of a communicator: its collectives, or its sends and receives. A program runs ahead of
// what it asks for, by hundreds: what is open is kept, whatever was made since, and what is over
// gives its place away. A task is open while an operation of its over the network has begun and not
// ended. Of what found no place it is counted that something is open, so that nobody takes the
// oldest that is kept for the oldest that is open.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "state/call_count.h"
#include "state/fixed_text.h"

namespace nnd::state {

// How far a collective, send or receive has come.
enum class Progress : std::uint8_t { kNone, kCalled, kScheduled, kLaunched };

// Operations: those that began in the upper half, those that ended in the lower.
struct OpCount {
  static constexpr std::uint32_t kBegun = 1 << 16, kEnded = 1;
  std::uint32_t word = 0;

  std::uint32_t begun() const noexcept { return word >> 16; }
  std::uint32_t ended() const noexcept { return word & 0xffff; }
  bool open() const noexcept { return begun() != ended(); }
};

// One cache line. All zero: there is none.
struct alignas(64) Task {
  std::atomic<std::uint64_t> ordinal;  // of its kind in this communicator, from 1
  std::atomic<CallCount*> what;
  std::atomic<std::uint64_t> number;  // of a collective NCCL's own, of a send or receive the peer
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> began, changed;  // CPU counter
  // Its proxy operations, one for each channel and direction over the network, and where they are.
  std::atomic<std::uint64_t> channels;
  std::atomic<std::uint32_t> ops;
  std::atomic<Progress> progress;
  std::atomic<bool> numbered;
  std::atomic<bool> timed;    // steps of it were told
  std::atomic<bool> counted;  // its times are

  OpCount count() const noexcept { return {ops.load(std::memory_order_acquire)}; }
};
static_assert(sizeof(Task) == 64);

// Of the steps of one task together: ends are added and begins subtracted, so that no step needs a
// place of its own.
struct PhaseTime {
  std::atomic<std::uint64_t> ticks;
  std::atomic<std::uint32_t> begun, ended;

  void begin(std::uint64_t raw_now) noexcept {
    ticks.fetch_sub(raw_now, std::memory_order_relaxed);
    begun.fetch_add(1, std::memory_order_relaxed);
  }
  void end(std::uint64_t raw_now) noexcept {
    ticks.fetch_add(raw_now, std::memory_order_relaxed);
    ended.fetch_add(1, std::memory_order_relaxed);
  }
};

// A task as a reader found it.
struct TaskSeen {
  FixedText<24> func;
  std::uint64_t ordinal = 0;
  std::uint64_t seq = 0;
  bool has_seq = false;
  std::int32_t peer = -1;  // of a send or receive
  std::uint64_t bytes = 0;
  Progress progress = Progress::kNone;
  std::uint32_t ops = 0, ops_done = 0;
  std::uint64_t began = 0, changed = 0;  // CPU counter

  bool over() const noexcept { return ops != 0 && ops == ops_done; }
};

// What a connection works for.
struct Work {
  std::int32_t channel = -1;  // -1: not known; so is peer
  std::int32_t peer = -1;     // counts for sends and receives only
  bool sends = false;
};

class LastTasks {
 public:
  // More than CUDA takes launches of on one stream before it holds the program up.
  static constexpr std::size_t kKept = 1024;
  // Zeroes, which only those pages take that are used.
  struct Room {
    std::array<Task, kKept> tasks;
    std::array<std::array<PhaseTime, kPhases>, kKept> phases;
  };

  LastTasks(Room& room, bool transfers) noexcept : room_(room), transfers_(transfers) {}

  std::atomic<std::uint64_t> made{0};

  bool has_made(std::uint64_t ordinal) const noexcept {
    return ordinal != 0 && ordinal <= made.load(std::memory_order_relaxed);
  }
  // NCCL doesn't tell the end of all operations: of none it is known whether it is open.
  void leave_ops_out() noexcept { counts_ops_ = false; }

  // Null: what has its place is open. It counts all the same.
  Task* make(std::uint64_t& ordinal) noexcept;
  // Null: it has no place.
  Task* find(std::uint64_t ordinal) noexcept {
    Task& task = room_.tasks[ordinal % kKept];
    return ordinal != 0 && task.ordinal.load(std::memory_order_acquire) == ordinal ? &task
                                                                                   : nullptr;
  }
  void begin_op(std::uint64_t ordinal, std::uint32_t channel) noexcept;
  void end_op(std::uint64_t ordinal, std::uint64_t raw_now) noexcept;
  PhaseTime& phase(Task& task, Phase phase) noexcept;
  // All that are kept are over.
  void settle() noexcept;

  // Readers; false: there is none, or it is not known. The newest; the oldest that is open, of all
  // or of those that a connection may work for.
  bool newest(TaskSeen& seen) const noexcept;
  bool unfinished(TaskSeen& seen, const Work& work = {}) const noexcept;
  bool read(std::uint64_t ordinal, TaskSeen& seen) const noexcept;
  // Something is open that has no place: from this one on it is not known which tasks are.
  std::optional<std::uint64_t> unknown_from() const noexcept;

 private:
  void settle(Task& task) noexcept;
  void settle_before(std::uint64_t ordinal) noexcept;
  void count_busy(CallCount& count, std::uint64_t bytes, std::uint64_t began,
                  std::uint64_t ended) noexcept;
  bool may_be(const Task& task, const Work& work) const noexcept;

  Room& room_;
  bool transfers_;
  bool counts_ops_ = true;
  std::atomic<std::uint32_t> open_{0};                        // of those that have a place
  std::atomic<std::uint64_t> lost_begun_{0}, lost_ended_{0};  // operations of those that have none
  std::atomic<std::uint64_t> lost_from_{0};
  std::atomic<std::uint64_t> settled_{0};   // as far as they are, by ordinal
  std::atomic<std::uint64_t> last_end_{0};  // of the last that is
};

}  // namespace nnd::state
