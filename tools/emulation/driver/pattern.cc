#include "driver/pattern.h"

#include <algorithm>
#include <cstring>

namespace nnd::driver {

namespace {

// splitmix64
std::uint64_t word_at(std::uint64_t start, std::uint64_t index) {
  std::uint64_t z = start + (index + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

std::uint64_t start_of(std::uint64_t seed, std::uint64_t message) { return word_at(seed, message); }

}  // namespace

void fill_pattern(std::span<std::byte> data, std::uint64_t seed, std::uint64_t message) {
  const auto start = start_of(seed, message);
  for (std::size_t at = 0, index = 0; at < data.size(); at += sizeof(std::uint64_t), ++index) {
    const auto word = word_at(start, index);
    std::memcpy(data.data() + at, &word, std::min(sizeof word, data.size() - at));
  }
}

std::optional<std::size_t> find_mismatch(std::span<const std::byte> data, std::uint64_t seed,
                                         std::uint64_t message) {
  const auto start = start_of(seed, message);
  for (std::size_t at = 0, index = 0; at < data.size(); at += sizeof(std::uint64_t), ++index) {
    const auto word = word_at(start, index);
    std::byte expected[sizeof word];
    std::memcpy(expected, &word, sizeof word);
    const auto size = std::min(sizeof word, data.size() - at);
    if (std::memcmp(data.data() + at, expected, size) == 0) continue;
    const auto* first = data.data() + at;
    return at +
           static_cast<std::size_t>(std::mismatch(first, first + size, expected).first - first);
  }
  return std::nullopt;
}

std::optional<std::size_t> find_not_poison(std::span<const std::byte> data) {
  const auto found =
      std::find_if(data.begin(), data.end(), [](std::byte b) { return b != kPoison; });
  if (found == data.end()) return std::nullopt;
  return static_cast<std::size_t>(found - data.begin());
}

}  // namespace nnd::driver
