// What NCCL gets as a handle: the event itself, packed into the pointer. So nothing is allocated,
// nothing can be lost, and a handle that comes from another process (a proxy works for its
// neighbours) can do no harm: all in it is checked where it is used.
#pragma once

#include <bit>
#include <cstdint>

#include "state/ends.h"

namespace nnd::profiler {

enum class HandleKind : std::uint8_t { kNone, kGroup, kTask, kOp, kStep, kPair };  // pairs.h

inline constexpr std::uint32_t kNoCommunicator = 0x3ff;
// Another process's, for which this one's proxy works (PXN).
inline constexpr std::uint32_t kOtherProcess = 0x3fe;

struct Handle {
  HandleKind kind = HandleKind::kNone;
  state::Purpose purpose = state::Purpose::kUnknown;  // of the task; kUnknown: there is none
  std::uint32_t communicator = kNoCommunicator;       // its place
  std::uint64_t task = 0;                             // the ordinal's low bits
  // Of an operation or step:
  bool sends = false;
  std::uint32_t channel = 0;
  std::uint32_t peer = 0;  // rank
};

// Bits, from the lowest: kind 3, purpose 2, communicator 10; of a task its ordinal 49; of the
// others sends 1, channel 8, peer 22, ordinal 18.
inline constexpr int kTaskBits = 49;
inline constexpr int kOpTaskBits = 18;

inline void* pack(const Handle& h) noexcept {
  std::uint64_t word = static_cast<std::uint64_t>(h.kind) |
                       static_cast<std::uint64_t>(h.purpose) << 3 |
                       static_cast<std::uint64_t>(h.communicator & 0x3ff) << 5;
  if (h.kind == HandleKind::kTask)
    word |= h.task << 15;
  else
    word |= static_cast<std::uint64_t>(h.sends) << 15 |
            static_cast<std::uint64_t>(h.channel & 0xff) << 16 |
            static_cast<std::uint64_t>(h.peer & 0x3fffff) << 24 | h.task << 46;
  return std::bit_cast<void*>(word);
}

// No bit_cast: clang-tidy 14 crashes on one that is masked.
inline std::uint64_t word_of(const void* handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}

inline HandleKind kind_of(const void* handle) noexcept {
  return static_cast<HandleKind>(word_of(handle) & 7);
}

inline Handle unpack(const void* handle) noexcept {
  const std::uint64_t word = word_of(handle);
  Handle h;
  h.kind = static_cast<HandleKind>(word & 7);
  h.purpose = static_cast<state::Purpose>(word >> 3 & 3);
  h.communicator = static_cast<std::uint32_t>(word >> 5 & 0x3ff);
  if (h.kind == HandleKind::kTask) {
    h.task = word >> 15;
  } else {
    h.sends = (word >> 15 & 1) != 0;
    h.channel = static_cast<std::uint32_t>(word >> 16 & 0xff);
    h.peer = static_cast<std::uint32_t>(word >> 24 & 0x3fffff);
    h.task = word >> 46;
  }
  return h;
}

inline void* step_of(const void* op) noexcept {
  const std::uint64_t word = word_of(op);
  return std::bit_cast<void*>((word & ~std::uint64_t{7}) |
                              static_cast<std::uint64_t>(HandleKind::kStep));
}

}  // namespace nnd::profiler
