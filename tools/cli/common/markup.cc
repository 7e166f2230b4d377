#include "cli/common/markup.h"

#include <fmt/format.h>

namespace nnd::cli {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
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

std::string markup_row(const std::vector<std::string>& cells, const char* tag) {
  std::string out = "<tr>";
  for (const auto& cell : cells) out += fmt::format("<{}>{}</{}>", tag, escaped(cell), tag);
  return out + "</tr>\n";
}

std::string markup_table(const std::vector<std::string>& headings, const std::string& rows) {
  return "<div class=\"wide\"><table>\n" + markup_row(headings, "th") + rows + "</table></div>\n";
}

}  // namespace nnd::cli
