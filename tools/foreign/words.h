// What stands behind some words of a line.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nnd::foreign {

inline bool holds(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}

// Unset: they are not there.
inline std::optional<std::string_view> behind(std::string_view line, std::string_view words) {
  const auto at = line.find(words);
  return at == std::string_view::npos ? std::nullopt
                                      : std::optional(line.substr(at + words.size()));
}

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <typename Number = int>
std::optional<Number> number_at_begin(std::string_view text) {
  Number out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  return read.ec == std::errc() ? std::optional(out) : std::nullopt;
}

template <typename Number = int>
std::optional<Number> number_behind(std::string_view line, std::string_view words) {
  const auto rest = behind(line, words);
  return rest ? number_at_begin<Number>(*rest) : std::nullopt;
}

}  // namespace nnd::foreign
