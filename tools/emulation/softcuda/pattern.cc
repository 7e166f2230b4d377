#include "pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "half.h"

namespace softcuda {
namespace {

constexpr std::size_t kPeriod = 10007;

// -125 to 125; unsigned types see it wrapped.
std::int64_t value(std::size_t element, int rank, int iteration) {
  const auto place = static_cast<std::int64_t>(element % kPeriod);
  return (place * 7 + std::int64_t{rank} * 13 + std::int64_t{iteration} * 5) % 251 - 125;
}

// What a number goes through on its way into a type.
template <typename T>
using Wide = std::conditional_t<kIsFloat<T> && sizeof(T) == 2, float, T>;
// As what it is printed.
template <typename T>
using Shown = std::conditional_t<kIsFloat<T> && sizeof(T) == 2, float, T>;

template <typename T>
T combine(Operation operation, T a, T b) {
  if (operation == Operation::kMin) return std::min(a, b);
  if (operation == Operation::kMax) return std::max(a, b);
  return static_cast<T>(a + b);
}

template <typename T>
std::vector<T> one_period(int rank, int iteration) {
  std::vector<T> values(kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    std::int64_t plain = value(i, rank, iteration);
    if constexpr (kIsFloat<T> && sizeof(T) == 2) plain /= 8;  // sums of 16 ranks stay exact
    values[i] = static_cast<T>(static_cast<Wide<T>>(plain));
  }
  return values;
}

// Calls visit(place in the buffer, place in the period, elements) for each stretch of a period.
template <typename F>
void for_each_stretch(std::size_t first, std::size_t count, F visit) {
  for (std::size_t at = 0; at < count;) {
    const std::size_t place = (first + at) % kPeriod;
    const std::size_t some = std::min(kPeriod - place, count - at);
    visit(at, place, some);
    at += some;
  }
}

template <typename T>
void fill_as(const Pattern& pattern, void* buffer, std::size_t first, std::size_t count, int rank) {
  const auto values = one_period<T>(rank, pattern.iteration);
  for_each_stretch(first, count, [&](std::size_t at, std::size_t place, std::size_t some) {
    std::memcpy(static_cast<char*>(buffer) + at * sizeof(T), &values[place], some * sizeof(T));
  });
}

template <typename T>
std::optional<std::string> compare(const std::vector<T>& expected, const void* buffer,
                                   std::size_t first, std::size_t count) {
  std::optional<std::string> wrong;
  for_each_stretch(first, count, [&](std::size_t at, std::size_t place, std::size_t some) {
    const char* const data = static_cast<const char*>(buffer) + at * sizeof(T);
    if (wrong || std::memcmp(data, &expected[place], some * sizeof(T)) == 0) return;
    for (std::size_t i = 0; i < some && !wrong; ++i) {
      T got;
      std::memcpy(&got, data + i * sizeof(T), sizeof(T));
      const T wanted = expected[place + i];
      if (got != wanted)
        wrong = fmt::format("element {} is {} instead of {}", at + i, static_cast<Shown<T>>(got),
                            static_cast<Shown<T>>(wanted));
    }
  });
  return wrong;
}

template <typename T>
std::vector<T> reduced_period(const Pattern& pattern, Operation operation, int nranks) {
  auto expected = one_period<T>(0, pattern.iteration);
  // Exact where the number of ranks is a power of two.
  const bool scaled = operation == Operation::kAverage && kIsFloat<T>;
  const auto ranks = static_cast<T>(static_cast<Wide<T>>(nranks));
  const auto scale_all = [&](std::vector<T>& values) {
    for (T& each : values)
      if (scaled) each = static_cast<T>(each / ranks);
  };
  scale_all(expected);
  for (int rank = 1; rank < nranks; ++rank) {
    auto more = one_period<T>(rank, pattern.iteration);
    scale_all(more);
    for (std::size_t i = 0; i < kPeriod; ++i)
      expected[i] = combine(operation, expected[i], more[i]);
  }
  if (operation == Operation::kAverage && !scaled)
    for (T& each : expected) each = static_cast<T>(each / ranks);
  return expected;
}

}  // namespace

void Pattern::fill(void* buffer, std::size_t first, std::size_t count, int rank) const {
  with_type(type, [&](auto zero) { fill_as<decltype(zero)>(*this, buffer, first, count, rank); });
}

std::optional<std::string> Pattern::check(const void* buffer, std::size_t first, std::size_t count,
                                          int rank) const {
  return with_type(type, [&](auto zero) {
    return compare(one_period<decltype(zero)>(rank, iteration), buffer, first, count);
  });
}

std::optional<std::string> Pattern::check_reduced(const void* buffer, std::size_t first,
                                                  std::size_t count, Operation operation,
                                                  int nranks) const {
  return with_type(type, [&](auto zero) {
    return compare(reduced_period<decltype(zero)>(*this, operation, nranks), buffer, first, count);
  });
}

}  // namespace softcuda
