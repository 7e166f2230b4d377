// How far apart the passes of a thread lie that means to make them at a steady pace.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nnd::record {

// Of one thread. Times in ns, of one clock.
class Pauses {
 public:
  // From the pass before (0: there was none) to the one at `now`.
  void add(std::uint64_t before, std::uint64_t now) noexcept {
    if (before == 0) return;
    if (now - since_ > kWindow) {
      past_ = now - since_ > 2 * kWindow ? 0 : recent_;
      recent_ = 0;
      since_ = now;
    }
    recent_ = std::max(recent_, now - before);
  }
  // Of the last seconds; 0: not known yet.
  std::uint64_t longest() const noexcept { return std::max(past_, recent_); }

 private:
  static constexpr std::uint64_t kWindow = 2'000'000'000;

  std::uint64_t since_ = 0, recent_ = 0, past_ = 0;
};

}  // namespace nnd::record
