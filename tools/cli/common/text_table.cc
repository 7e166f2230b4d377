#include "cli/common/text_table.h"

#include <algorithm>

namespace nnd::cli {

namespace {
bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos &&
         std::count(text.begin(), text.end(), '.') <= 1;
}
}  // namespace

std::string TextTable::render() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      const auto& cell = rows_[r][i];
      const std::string space(widths[i] - cell.size(), ' ');
      // A heading stands where the numbers below it do.
      const auto& sample = r == 0 && rows_.size() > 1 ? rows_[1][i] : cell;
      line += (i == 0 ? "" : "  ") + (is_number(sample) ? space + cell : cell + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace nnd::cli
