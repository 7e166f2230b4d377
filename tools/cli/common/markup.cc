#include "cli/common/markup.h"

#include <fmt/format.h>

#include "cli/common/html_text.h"

namespace nnd::cli {

std::string markup_row(const std::vector<std::string>& cells, const char* tag) {
  std::string out = "<tr>";
  for (const auto& cell : cells) out += fmt::format("<{}>{}</{}>", tag, html_text(cell), tag);
  return out + "</tr>\n";
}

std::string markup_table(const std::vector<std::string>& headings, const std::string& rows) {
  return "<div class=\"wide\"><table>\n" + markup_row(headings, "th") + rows + "</table></div>\n";
}

}  // namespace nnd::cli
