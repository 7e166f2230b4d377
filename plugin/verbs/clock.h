// The two clocks of the layer. Both run on CLOCK_MONOTONIC's scale.
#pragma once

#include <cstdint>
#include <ctime>

namespace nnd::verbs {

inline std::int64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

inline std::int64_t now_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

// For the data path: no system call, some milliseconds coarse, about 4 ns.
inline std::int64_t coarse_ns() noexcept { return clock_ns(CLOCK_MONOTONIC_COARSE); }

}  // namespace nnd::verbs
