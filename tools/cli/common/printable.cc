#include "cli/common/printable.h"

#include <cstddef>
#include <cstdint>

namespace nnd::cli {

namespace {

struct Symbol {
  std::size_t bytes = 1;
  bool shown = false;
};

// Those that a terminal obeys, and those that turn the direction of what follows.
bool is_shown(std::uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0);
  const bool line = point == 0x2028 || point == 0x2029;
  const bool direction =
      (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  return !control && !line && !direction;
}

// The UTF-8 that begins there; what is none is not shown.
Symbol symbol_at(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const std::uint32_t first = byte(at);
  if (first < 0x80) return {1, is_shown(first)};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  std::uint32_t point = first & (0xFFu >> (bytes + 1));
  if (first < 0xC2 || first > 0xF4) return {};
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    point = point << 6 | (byte(at + i) & 0x3F);
  }
  if (point < kLeast[bytes] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return {};
  return {bytes, is_shown(point)};
}

}  // namespace

std::string printable(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    const Symbol symbol = symbol_at(text, i);
    if (!symbol.shown)
      for (std::size_t j = 0; j < symbol.bytes; ++j) text[i + j] = '?';
    i += symbol.bytes;
  }
  return text;
}

std::string printable_lines(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    out += (at == 0 ? "" : "\n") + printable(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace nnd::cli
