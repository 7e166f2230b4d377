#include "cli/common/html_text.h"

#include "cli/common/printable.h"

namespace nnd::cli {

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : printable(std::string(text))) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace nnd::cli
