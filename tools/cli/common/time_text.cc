#include "cli/common/time_text.h"

#include <fmt/format.h>

#include <chrono>

namespace nnd::cli {

namespace {

using Time = std::chrono::sys_time<std::chrono::nanoseconds>;

template <class Unit>
std::string of_day(std::int64_t ns) {
  const Time at{std::chrono::nanoseconds(ns)};
  const std::chrono::hh_mm_ss time(
      std::chrono::floor<Unit>(at - std::chrono::floor<std::chrono::days>(at)));
  std::string out = fmt::format("{:02}:{:02}:{:02}", time.hours().count(), time.minutes().count(),
                                time.seconds().count());
  if constexpr (time.fractional_width != 0) out += fmt::format(".{:03}", time.subseconds().count());
  return out;
}

}  // namespace

std::string day_text(std::int64_t ns) {
  const std::chrono::year_month_day date(
      std::chrono::floor<std::chrono::days>(Time{std::chrono::nanoseconds(ns)}));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string clock_text(std::int64_t ns) { return of_day<std::chrono::milliseconds>(ns); }

std::string time_text(std::int64_t ns) {
  return fmt::format("{} {} UTC", day_text(ns), clock_text(ns));
}

std::string second_text(std::int64_t ns) {
  return fmt::format("{} {} UTC", day_text(ns), of_day<std::chrono::seconds>(ns));
}

}  // namespace nnd::cli
