#include "cli/common/printable.h"

namespace nnd::cli {

std::string printable(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) text[i] = '?';
    // U+0080 to U+009F, which some terminals obey.
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0)
      text[i] = text[i + 1] = '?';
  }
  return text;
}

}  // namespace nnd::cli
