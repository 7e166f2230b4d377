// Waiting for a word that another thread changes. The time is of the monotonic clock: a wall clock
// that is set lengthens no wait. Wakes without a lock.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

#include "context/clock.h"

namespace nnd::context {

// Returns when the word is not `value`, was woken, or after that time; perhaps earlier.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                       std::uint64_t ns) noexcept {
  const timespec timeout{static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &timeout, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace nnd::context
