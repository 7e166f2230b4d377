// Tables of an HTML page.
#pragma once

#include <string>
#include <vector>

namespace nnd::cli {

// A row of cells, which are text; `tag`: "td" or "th".
std::string markup_row(const std::vector<std::string>& cells, const char* tag = "td");
// A table that scrolls by itself where it is wider than the page. `rows` is markup.
std::string markup_table(const std::vector<std::string>& headings, const std::string& rows);

}  // namespace nnd::cli
