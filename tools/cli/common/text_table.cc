#include "cli/common/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nnd::cli {

namespace {

constexpr std::size_t kGap = 2;  // between columns

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos &&
         std::count(text.begin(), text.end(), '.') <= 1;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  return longest;
}

std::size_t total(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

// Takes the words that fit into a line off the text.
std::string take_line(std::string& text, std::size_t width) {
  if (text.size() <= width) return std::exchange(text, {});
  auto end = text.rfind(' ', width);
  if (end == std::string::npos) end = std::min(text.find(' '), text.size());
  std::string out = text.substr(0, end);
  text.erase(0, std::min(end + 1, text.size()));
  return out;
}

}  // namespace

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> out;
  for (const auto& heading : headings_) out.push_back(heading.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(out[i], row.cells[i].size());
  return out;
}

// Narrows the widest columns, never below a word of theirs. False: it doesn't fit.
bool TextTable::fit(std::size_t width, std::vector<std::size_t>& widths) const {
  std::vector<std::size_t> least;
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    least.push_back(longest_word(headings_[i]));
    for (const auto& row : rows_) least[i] = std::max(least[i], longest_word(row.cells[i]));
  }
  if (total(least) > width) return false;
  while (total(widths) > width) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    --widths[widest];
  }
  return true;
}

std::string TextTable::line(const Row& cells, const std::vector<std::size_t>& widths) const {
  Row rest = cells;
  std::string out;
  do {
    std::string line;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      // A heading stands where the numbers below it do.
      const auto& sample = &cells == &headings_ && !rows_.empty() ? rows_[0].cells[i] : cells[i];
      const bool right = is_number(sample);
      const auto cell = take_line(rest[i], widths[i]);
      const std::string space(widths[i] - std::min(widths[i], cell.size()), ' ');
      line += (i == 0 ? "" : std::string(kGap, ' ')) + (right ? space + cell : cell + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  } while (std::any_of(rest.begin(), rest.end(), [](const auto& cell) { return !cell.empty(); }));
  return out;
}

// "mlx5_0: port 1, link Ethernet, ...", "rank 0: HCA mlx5_0, ...": what is not known is left out.
std::string TextTable::list(const Coloured& row, const Screen& screen) const {
  const auto& first_cell = row.cells[0];
  std::string text = (is_number(first_cell) ? headings_[0] + " " : "") + first_cell + ":";
  bool first = true;
  for (std::size_t i = 1; i < row.cells.size(); ++i) {
    if (row.cells[i] == "-") continue;
    text += (first ? " " : ", ") + headings_[i] + " " + row.cells[i];
    first = false;
  }
  return screen.wrap(text, 2) + "\n";
}

std::string TextTable::render(const Screen& screen) const {
  auto columns = widths();
  const bool as_list =
      screen.width() != 0 && total(columns) > screen.width() && !fit(screen.width(), columns);
  std::string out = as_list ? "" : line(headings_, columns);
  for (const auto& row : rows_) {
    const auto text = as_list ? list(row, screen) : line(row.cells, columns);
    out += screen.paint(text.substr(0, text.size() - 1), row.colour) + "\n";
  }
  return out;
}

}  // namespace nnd::cli
