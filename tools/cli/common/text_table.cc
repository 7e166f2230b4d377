#include "cli/common/text_table.h"

#include <algorithm>
#include <numeric>
#include <set>
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

// Takes the words that fit into a line off the text; what is longer than a line by itself is cut.
std::string take_line(std::string& text, std::size_t width) {
  if (text.size() <= width) return std::exchange(text, {});
  const auto end = text.rfind(' ', width);
  std::string out = text.substr(0, std::min(end, width));
  text.erase(0, end == std::string::npos ? width : end + 1);
  return out;
}

std::size_t sum_of(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

}  // namespace

std::size_t TextTable::width_of(std::size_t column) const {
  std::size_t out = headings_[column].size();
  for (const auto& row : rows_) out = std::max(out, row.cells[column].size());
  return out;
}

std::size_t TextTable::least_width_of(std::size_t column) const {
  std::size_t out = longest_word(headings_[column]);
  for (const auto& row : rows_) out = std::max(out, longest_word(row.cells[column]));
  return out;
}

std::size_t TextTable::total(const Columns& columns,
                             std::size_t (TextTable::*width)(std::size_t) const) const {
  std::vector<std::size_t> widths;
  for (const auto column : columns) widths.push_back((this->*width)(column));
  return sum_of(widths);
}

// In several lines a row, where need be.
bool TextTable::fits(const Columns& columns, std::size_t width) const {
  return total(columns, &TextTable::least_width_of) <= width;
}

bool TextTable::is_same_in_all_rows(std::size_t column) const {
  return std::all_of(rows_.begin(), rows_.end(), [&](const Coloured& row) {
    return row.cells[column] == rows_[0].cells[column];
  });
}

// How many of the first tell the rows from each other, as far as they leave room for others.
std::size_t TextTable::key_columns(const Columns& columns, std::size_t width) const {
  std::set<Row> keys;
  Columns key;
  for (const auto column : columns) {
    key.push_back(column);
    if (key.size() > 1 && total(key, &TextTable::least_width_of) > width / 2) {
      key.pop_back();
      break;
    }
    keys.clear();
    for (const auto& row : rows_) {
      Row cells;
      for (const auto one : key) cells.push_back(row.cells[one]);
      keys.insert(std::move(cells));
    }
    if (keys.size() == rows_.size()) break;
  }
  return key.size();
}

// Takes out what needs no column: "In each row: link Ethernet, state ACTIVE".
std::string TextTable::said_once(Columns& columns, const Screen& screen) const {
  if (rows_.size() < 2) return {};
  std::string text;
  std::erase_if(columns, [&](std::size_t column) {
    if (column == 0 || !is_same_in_all_rows(column)) return false;
    const auto& cell = rows_[0].cells[column];
    if (cell != "-")
      text += fmt::format("{} {} {}", text.empty() ? "In each row:" : ",", headings_[column], cell);
    return true;
  });
  return text.empty() ? "" : screen.wrap(text, 2) + "\n";
}

std::string TextTable::line(const Row& cells, const Columns& columns,
                            const std::vector<std::size_t>& widths) const {
  Row rest = cells;
  std::string out;
  const auto open = [&](std::size_t column) { return !rest[column].empty(); };
  do {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto column = columns[i];
      // A heading stands where the numbers below it do.
      const auto& sample =
          &cells == &headings_ && !rows_.empty() ? rows_[0].cells[column] : cells[column];
      const bool right = is_number(sample);
      const auto cell = take_line(rest[column], widths[i]);
      const std::string space(widths[i] - std::min(widths[i], cell.size()), ' ');
      line += (i == 0 ? "" : std::string(kGap, ' ')) + (right ? space + cell : cell + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  } while (std::any_of(columns.begin(), columns.end(), open));
  return out;
}

std::string TextTable::block(const Columns& columns, const Screen& screen) const {
  std::vector<std::size_t> widths, least;
  for (const auto column : columns) {
    widths.push_back(width_of(column));
    least.push_back(least_width_of(column));
  }
  // Narrows the widest columns, below a word of theirs only where there is no other way.
  const auto narrow = [&](const std::vector<std::size_t>& least_widths) {
    while (sum_of(widths) > screen.width()) {
      std::size_t widest = widths.size();
      for (std::size_t i = 0; i < widths.size(); ++i)
        if (widths[i] > least_widths[i] && (widest == widths.size() || widths[i] > widths[widest]))
          widest = i;
      if (widest == widths.size()) return;
      --widths[widest];
    }
  };
  if (screen.width() != 0) {
    narrow(least);
    narrow(std::vector<std::size_t>(widths.size(), 1));
  }
  std::string out = line(headings_, columns, widths);
  for (const auto& row : rows_) {
    const auto text = line(row.cells, columns, widths);
    out += screen.paint(text.substr(0, text.size() - 1), row.colour) + "\n";
  }
  return out;
}

std::string TextTable::render(const Screen& screen) const {
  Columns columns(headings_.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  const std::size_t width = screen.width();
  if (width == 0 || fits(columns, width)) return block(columns, screen);
  const auto once = said_once(columns, screen);
  for (const auto& heading : may_lack_) {
    if (fits(columns, width)) break;
    std::erase_if(columns, [&](std::size_t column) { return headings_[column] == heading; });
  }
  const auto keys = key_columns(columns, width);
  const Columns key(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(keys));
  std::string out;
  for (std::size_t at = keys; at < columns.size() || out.empty();) {
    Columns some = key;
    do {
      if (at < columns.size()) some.push_back(columns[at++]);
    } while (at < columns.size() && [&] {
      Columns more = some;
      more.push_back(columns[at]);
      return fits(more, width);
    }());
    out += (out.empty() ? "" : "\n") + block(some, screen);
  }
  return out + once;
}

}  // namespace nnd::cli
