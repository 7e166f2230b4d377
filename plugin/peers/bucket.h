// So much and no more of something for each span of time. One thread.
#pragma once

#include <cstdint>

namespace nnd::peers {

class Bucket {
 public:
  explicit Bucket(std::uint32_t most, std::uint64_t span_ms = 1000)
      : most_(most), left_(most), span_ms_(span_ms) {}
  bool take(std::uint64_t now_ms) noexcept {
    if (now_ms - filled_ms_ >= span_ms_) {
      filled_ms_ = now_ms;
      left_ = most_;
    }
    return left_ != 0 && left_-- != 0;
  }

 private:
  std::uint32_t most_, left_;
  std::uint64_t span_ms_;
  std::uint64_t filled_ms_ = 0;
};

}  // namespace nnd::peers
