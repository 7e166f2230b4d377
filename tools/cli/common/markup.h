// Text within HTML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nnd::cli {

// What stands for a text between tags and within a quoted attribute.
std::string escaped(std::string_view text);

// A row of cells; `tag`: "td" or "th".
std::string markup_row(const std::vector<std::string>& cells, const char* tag = "td");
// A table that scrolls by itself where it is wider than the page. `rows` is markup.
std::string markup_table(const std::vector<std::string>& headings, const std::string& rows);

}  // namespace nnd::cli
