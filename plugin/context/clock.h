// The monotonic clock, and any other, in ns.
#pragma once

#include <time.h>

#include <cstdint>

namespace nnd::context {

inline std::uint64_t now_ns(clockid_t clock) noexcept {
  timespec ts{};
  ::clock_gettime(clock, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(ts.tv_nsec);
}

inline std::uint64_t mono_ns() noexcept { return now_ns(CLOCK_MONOTONIC); }

}  // namespace nnd::context
