#include "config/plain_text.h"

#include <cstddef>

namespace nnd::config {

namespace {

// U+0080 to U+009F, in UTF-8 two bytes, are to many terminals what an escape and a letter are.
bool steers(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(at) < 0x20 || byte(at) == 0x7f) return true;
  return byte(at) == 0xc2 && at + 1 < text.size() && byte(at + 1) < 0xa0;
}

}  // namespace

bool is_plain(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (steers(text, i)) return false;
  return true;
}

std::string plain(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!steers(text, i)) continue;
    out[i] = '?';
    if (text[i] == '\xc2') out[++i] = '?';
  }
  return out;
}

}  // namespace nnd::config
