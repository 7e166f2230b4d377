// The monotonic clock, and any other, in ns.
#pragma once

#include <time.h>

#include <cstdint>

namespace nnd::context {

inline constexpr std::uint64_t kSecond = 1'000'000'000;  // ns

inline std::uint64_t now_ns(clockid_t clock) noexcept {
  timespec ts{};
  ::clock_gettime(clock, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * kSecond + static_cast<std::uint64_t>(ts.tv_nsec);
}

inline std::uint64_t mono_ns() noexcept { return now_ns(CLOCK_MONOTONIC); }

}  // namespace nnd::context
