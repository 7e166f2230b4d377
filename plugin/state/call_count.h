// What a communicator was asked for, counted by kind: how often, how much, how long it took.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "state/fixed_text.h"

namespace nnd::state {

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

struct PhaseTotal {
  std::atomic<std::uint64_t> steps{0}, ns{0};
};

// How long a communicator was busy with calls of a size.
struct SizeTime {
  std::atomic<std::uint64_t> calls{0}, bytes{0}, ns{0};
};

// Bucket b has [2^b, 2^(b+1)).
inline std::size_t bucket_of(std::uint64_t number) noexcept {
  return std::min(static_cast<std::size_t>(std::bit_width(number | 1)) - 1, kSizeBuckets - 1);
}

struct CallCount {
  enum class Use : std::uint8_t { kFree, kBeingMade, kReady };
  std::atomic<Use> use{Use::kFree};
  // Of one that is ready:
  CallKind kind;
  FixedText<24> func, datatype, algo, proto;  // NCCL may be unloaded before they are read
  std::uint32_t element_bytes = 0;            // 0: not told (NCCL calls ncclUint8 "Unknown")
  bool ends_told = true;                      // those of its operations

  std::atomic<std::uint64_t> calls{0}, bytes{0};
  std::atomic<std::uint64_t> last_seq{0};  // of NCCL's numbers, which count each function's calls
  // Bucket b: calls with [2^b, 2^(b+1)) bytes.
  std::array<std::atomic<std::uint64_t>, kSizeBuckets> sizes{};
  // Of tasks that are over: bucket b took [2^b, 2^(b+1)) ns, to the end of their last operation.
  std::array<std::atomic<std::uint64_t>, kSizeBuckets> took{};
  std::array<SizeTime, kSizeBuckets> by_size;  // collectives that are over, in the buckets of sizes
  std::array<PhaseTotal, kPhases> phases;

  void count(std::uint64_t elements) noexcept;
};

}  // namespace nnd::state
