// Chance that is the same everywhere: the distributions of <random> differ between libraries.
#pragma once

#include <random>
#include <utility>
#include <vector>

namespace nnd::verdict {

class Dice {
 public:
  explicit Dice(unsigned long seed) : engine_(seed) {}

  int below(int most) { return static_cast<int>(engine_() % static_cast<unsigned>(most)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool percent(int chance) { return below(100) < chance; }

  template <typename T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  }
  // By weight.
  template <typename T>
  const T& of(const std::vector<std::pair<T, int>>& all) {
    int sum = 0;
    for (const auto& [one, weight] : all) sum += weight;
    int at = below(sum);
    for (const auto& [one, weight] : all)
      if ((at -= weight) < 0) return one;
    return all.back().first;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace nnd::verdict
