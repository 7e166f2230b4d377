// The CPU's own counter: the clock of the data path. Reading it is one instruction and never a
// system call; what its ticks mean in ns is found by the drain thread, which compares it with
// CLOCK_MONOTONIC now and then.
#pragma once

#include <atomic>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace nnd::context::raw_clock {

inline std::uint64_t now() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "no counter known for this CPU"
#endif
}

struct Reference {
  std::uint64_t raw = 0;      // the counter and
  std::uint64_t mono_ns = 0;  // CLOCK_MONOTONIC at one instant
  std::uint64_t hz = 0;       // ticks per second; 0: not known yet
};

// Compares the clocks; the longer ago the first call was, the better the result. Any thread.
void calibrate() noexcept;
Reference reference() noexcept;

[[gnu::visibility("hidden")]] extern constinit std::atomic<std::uint64_t> g_ns_per_tick;  // x 2^32

// A difference of two readings in ns, by one multiplication; 0 while the rate is not known.
inline std::uint64_t to_ns(std::uint64_t ticks) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{ticks} * g_ns_per_tick.load(std::memory_order_relaxed)) >>
                                    32);
}

// From one reading to a later one, in ns. 0 where the counter was set back in between, as a virtual
// machine's is when it moves to another host.
inline std::uint64_t elapsed_ns(std::uint64_t from, std::uint64_t to) noexcept {
  return to > from ? to_ns(to - from) : 0;
}

}  // namespace nnd::context::raw_clock
