// A time as a calendar of UTC has it. gmtime_r takes a lock of libc's for it, which stays locked in
// the child of a fork where another thread had it.
#pragma once

#include <chrono>
#include <cstdint>

namespace nnd::context {

struct Utc {
  int year = 0;
  unsigned month = 0;  // from 1
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

// Of the seconds since 1970.
constexpr Utc utc(std::uint64_t seconds) noexcept {
  constexpr std::uint64_t kDay = 86400;
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(seconds / kDay)))};
  const auto of_day = static_cast<unsigned>(seconds % kDay);
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          of_day / 3600,
          of_day / 60 % 60,
          of_day % 60};
}

}  // namespace nnd::context
