// A short text inside a plain value: cut where it is too long.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace nnd::state {

template <std::size_t kRoom>
struct FixedText {
  std::array<char, kRoom> text{};  // ends with 0

  FixedText& operator=(std::string_view from) noexcept {
    const std::size_t n = std::min(from.size(), kRoom - 1);
    std::copy_n(from.begin(), n, text.begin());
    text[n] = '\0';
    return *this;
  }
  operator std::string_view() const noexcept { return text.data(); }
  bool empty() const noexcept { return text[0] == '\0'; }
};

}  // namespace nnd::state
