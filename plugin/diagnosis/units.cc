#include "diagnosis/units.h"

#include <fmt/format.h>

#include <iterator>

namespace nnd::diagnosis {

std::string span_text(double sec) {
  if (sec < 1) return fmt::format("{:.0f} ms", sec * 1000);
  if (sec < 120) return fmt::format("{:.1f} s", sec);
  const auto minutes = static_cast<std::uint64_t>(sec / 60);
  if (minutes < 60) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1000;
  const char* const* unit = kUnits;
  for (; value >= 1000 && unit + 1 != std::end(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, *unit);
}

}  // namespace nnd::diagnosis
