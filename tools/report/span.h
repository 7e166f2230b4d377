// A time that is known within bounds: nobody sees a death itself, only the last sign of life and
// when a process was first missed.
#pragma once

#include <cstdint>

namespace nnd::report {

using Ns = std::int64_t;  // wall time of the job since 1970; also a duration

// A box tells of life ten times a second, and less often on a machine that is busy.
inline constexpr Ns kTick = 250'000'000;
// Who shows life for so long after it last did something goes on without.
inline constexpr Ns kLivedOn = 2'000'000'000;

struct Span {
  Ns from = 0, to = 0;

  bool surely_before(const Span& other) const { return to < other.from; }
  bool overlaps(const Span& other) const {
    return !surely_before(other) && !other.surely_before(*this);
  }
  Span widened(Ns by) const { return {from - by, to + by}; }
};

}  // namespace nnd::report
