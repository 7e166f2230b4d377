// Chance that is the same everywhere: the distributions of <random> differ between libraries.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace nnd::differential {

class Dice {
 public:
  explicit Dice(unsigned long seed) : engine_(seed) {}

  int below(int most) { return static_cast<int>(engine_() % static_cast<unsigned>(most)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }

  template <typename T>
  T of(std::initializer_list<T> all) {
    return *(all.begin() + below(static_cast<int>(all.size())));
  }
  std::string word(std::initializer_list<const char*> all) { return of(all); }
  template <typename T>
  void shuffle(std::vector<T>& all) {
    for (std::size_t i = all.size(); i > 1; --i)
      std::swap(all[i - 1], all[static_cast<std::size_t>(below(static_cast<int>(i)))]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace nnd::differential
