// Statistics that a few wild values don't move.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace nnd::report {

// How far off the usual a value has to be, and of how many, before anything is said of it.
inline constexpr double kTimesUsual = 8;
inline constexpr double kFewestDeviations = 5;
inline constexpr std::size_t kFewestPorts = 4;

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Median and spread of values that differ by factors.
struct Usual {
  double log_median = 0, log_deviation = 0;

  double value() const { return std::exp(log_median); }
  // How far a value is off, in deviations; below the median: negative.
  double effect(double value) const { return (std::log(value) - log_median) / log_deviation; }
};

// Of values above zero. `least`: a deviation that is nothing, as a part of the value.
inline Usual usual_of(const std::vector<double>& values, double least = 0.05) {
  std::vector<double> logs, away;
  for (const double value : values) logs.push_back(std::log(value));
  Usual out;
  out.log_median = median(logs);
  for (const double one : logs) away.push_back(std::abs(one - out.log_median));
  constexpr double kOfNormal = 1.4826;  // from the median of distances to a standard deviation
  out.log_deviation = std::max(kOfNormal * median(away), least);
  return out;
}

}  // namespace nnd::report
