// The clocks of the layer's control path; the data path has the CPU's counter.
#pragma once

#include <cstdint>
#include <ctime>

#include "context/raw_clock.h"

namespace nnd::verbs {

inline std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// How long ago the CPU's counter stood at `then`.
inline std::int64_t age_us(std::uint64_t then) noexcept {
  namespace raw_clock = context::raw_clock;
  return static_cast<std::int64_t>(raw_clock::elapsed_ns(then, raw_clock::now())) / 1000;
}

}  // namespace nnd::verbs
