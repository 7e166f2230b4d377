// One of NCCL's communicators, as its profiler API tells it: who is in it, what it was asked for,
// and how far the last of that has come. Any thread may read it at any time, without a lock; NCCL's
// threads write it, several at once where they use one communicator.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "state/ends.h"
#include "state/fixed_text.h"
#include "state/published.h"

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

// What is counted together. Texts of NCCL's own, told apart by their addresses.
struct CallKind {
  const char* func = nullptr;      // "AllReduce", "Send"
  const char* datatype = nullptr;  // "ncclFloat32"
  const char* algo = nullptr;      // "RING"; null: send, receive, or a call
  const char* proto = nullptr;     // "SIMPLE"; likewise

  bool operator==(const CallKind&) const = default;
};

inline constexpr std::size_t kSizeBuckets = 48;

// Where the time of a proxy step goes: the GPU has no data yet or the peer no receive; the network;
// the peer or the network; the GPU has not taken the data.
enum class Phase : std::uint8_t { kBeforeSend, kSending, kReceiving, kAfterReceive };
inline constexpr std::size_t kPhases = 4;

// Of the steps of one task together: ends are added and begins subtracted, so that no step needs a
// place of its own.
struct PhaseTime {
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::uint32_t> begun{0}, ended{0};

  void begin(std::uint64_t raw_now) noexcept {
    ticks.fetch_sub(raw_now, std::memory_order_relaxed);
    begun.fetch_add(1, std::memory_order_relaxed);
  }
  void end(std::uint64_t raw_now) noexcept {
    ticks.fetch_add(raw_now, std::memory_order_relaxed);
    ended.fetch_add(1, std::memory_order_relaxed);
  }
};

struct PhaseTotal {
  std::atomic<std::uint64_t> steps{0}, ns{0};
};

struct CallCount {
  enum class Use : std::uint8_t { kFree, kBeingMade, kReady };
  std::atomic<Use> use{Use::kFree};
  // Of one that is ready:
  CallKind kind;
  FixedText<24> func, datatype, algo, proto;  // NCCL may be unloaded before they are read
  std::uint32_t element_bytes = 0;            // 0: not told (NCCL calls ncclUint8 "Unknown")

  std::atomic<std::uint64_t> calls{0}, bytes{0};
  std::atomic<std::uint64_t> last_seq{0};  // of NCCL's numbers, which count each function's calls
  // Bucket b: calls with [2^b, 2^(b+1)) bytes.
  std::array<std::atomic<std::uint64_t>, kSizeBuckets> sizes{};
  // Of tasks that are over: bucket b took [2^b, 2^(b+1)) ns, to the end of their last operation.
  std::array<std::atomic<std::uint64_t>, kSizeBuckets> took{};
  std::array<PhaseTotal, kPhases> phases;

  void count(std::uint64_t elements) noexcept;
};

// How far a collective, send or receive has come.
enum class Progress : std::uint8_t { kNone, kCalled, kScheduled, kLaunched };

struct Task {
  std::atomic<std::uint64_t> ordinal{0};  // of its kind in this communicator, from 1; 0: none
  std::atomic<CallCount*> what{nullptr};
  std::atomic<std::uint64_t> seq{0};
  std::atomic<bool> has_seq{false};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int32_t> peer{-1};  // of a send or receive
  std::atomic<Progress> progress{Progress::kNone};
  std::atomic<std::uint64_t> began{0}, changed{0};  // CPU counter
  // Its proxy operations: one for each channel and direction over the network.
  std::atomic<std::uint32_t> ops{0}, ops_done{0};
  std::array<PhaseTime, kPhases> phases;  // of the steps that were told

  PhaseTime& phase(Phase phase) noexcept { return phases[static_cast<std::size_t>(phase)]; }
  // Its times go into what it is counted with.
  void settle() noexcept;
};

// A task as a reader found it.
struct TaskSeen {
  FixedText<24> func;
  std::uint64_t ordinal = 0;
  std::uint64_t seq = 0;
  bool has_seq = false;
  std::uint64_t bytes = 0;
  Progress progress = Progress::kNone;
  std::uint32_t ops = 0, ops_done = 0;
  std::uint64_t changed = 0;  // CPU counter
};

// The last tasks of a kind: the n-th is in place n % kKept.
struct LastTasks {
  static constexpr std::size_t kKept = 16;
  std::atomic<std::uint64_t> made{0};
  std::array<Task, kKept> tasks;

  Task& make() noexcept;
  // All that are kept are over.
  void settle() noexcept;
  // Null: others took its place.
  Task* find(std::uint64_t ordinal) noexcept {
    Task& task = tasks[ordinal % kKept];
    return ordinal != 0 && task.ordinal.load(std::memory_order_acquire) == ordinal ? &task
                                                                                   : nullptr;
  }

  // Readers; false: there is none. The n-th; the newest; the oldest of those kept that has begun
  // with its operations and not ended.
  bool read(std::uint64_t ordinal, TaskSeen& seen) const noexcept;
  bool newest(TaskSeen& seen) const noexcept;
  bool unfinished(TaskSeen& seen) const noexcept;
};

struct Communicator {
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
