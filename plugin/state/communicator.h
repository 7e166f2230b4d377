// One of NCCL's communicators, as its profiler API tells it: who is in it, what it was asked for,
// and how far the last of that has come. Any thread may read it at any time, without a lock; NCCL's
// threads write it, several at once where they use one communicator.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "state/call_count.h"
#include "state/ends.h"
#include "state/fixed_text.h"
#include "state/published.h"
#include "state/tasks.h"

namespace nnd::state {

// -1, 0, empty: not told. Before profiler v4 all is told by the first collective, nranks and nodes
// by none.
struct Membership {
  std::uint64_t hash = 0;
  std::int32_t rank = -1;
  std::int32_t nranks = -1;
  std::int32_t nodes = -1;
  FixedText<64> name;  // as its user gave it
};

struct TaskRooms {
  LastTasks::Room collectives, transfers;
};

struct Communicator {
  explicit Communicator(TaskRooms& rooms) noexcept
      : collectives(rooms.collectives, false), transfers(rooms.transfers, true) {}

  static constexpr std::size_t kCalled = 16, kRan = 32;

  std::uint32_t index = 0;
  std::atomic<int> api{0};         // version of the profiler API
  std::atomic<bool> known{false};  // membership has a hash, or will at once
  std::atomic<bool> told{false};   // a line said so
  Published<Membership> membership;
  std::atomic<std::int32_t> rank{-1};  // as membership's
  // What the program called, where NCCL tells it (profiler v5); and what NCCL made of it.
  std::array<CallCount, kCalled> called;
  std::array<CallCount, kRan> ran;
  std::atomic<std::uint64_t> not_counted{0};  // for want of a place in these
  LastTasks collectives, transfers;

  LastTasks& tasks(Purpose purpose) noexcept {
    return purpose == Purpose::kTransfer ? transfers : collectives;
  }
  const LastTasks& tasks(Purpose purpose) const noexcept {
    return purpose == Purpose::kTransfer ? transfers : collectives;
  }

  // The place for this kind of call; null: there is none left.
  CallCount* count_of(const CallKind& kind, bool called_only) noexcept;
};

}  // namespace nnd::state
