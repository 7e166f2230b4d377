// The one table of this process's communicators. A place is made when it is first needed, stays,
// and serves the next communicator when its own is gone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "state/communicator.h"

namespace nnd::state {

inline constexpr std::size_t kCommunicators = 512;

// --- control path; thread-safe

// Null: no memory, or no place; then it is counted.
Communicator* open_communicator() noexcept;
void release_communicator(Communicator& communicator) noexcept;
std::uint64_t communicators_not_kept() noexcept;

// In a forked child: the parent's communicators are not ours.
void forget_communicators() noexcept;

// --- readers; no lock

using CommunicatorTable = std::array<std::atomic<Communicator*>, kCommunicators>;
extern constinit CommunicatorTable g_communicators;

// Null: the place is free.
inline Communicator* communicator_at(std::size_t index) noexcept {
  return index < kCommunicators ? g_communicators[index].load(std::memory_order_acquire) : nullptr;
}

template <class F>
void for_each_communicator(F&& f) {
  for (std::size_t index = 0; index < kCommunicators; ++index)
    if (Communicator* const communicator = communicator_at(index)) f(*communicator);
}

}  // namespace nnd::state
