// A table for a terminal: columns as wide as their widest cell, numbers to the right. Where that is
// wider than the screen, cells get several lines, then what is the same in all rows is said once
// below, then columns that may go are left out, and what is still too wide stands in several
// tables, each with the first columns again.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/common/screen.h"

namespace nnd::cli {

// What stands in a cell where nothing is known.
inline std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

template <typename T>
std::string or_dash(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

class TextTable {
 public:
  using Row = std::vector<std::string>;

  explicit TextTable(Row headings) : headings_(std::move(headings)) {}
  // Columns that a narrow screen may go without, the first of them first.
  void may_lack(Row headings) { may_lack_ = std::move(headings); }
  // As many cells as there are headings.
  void add(Row row, Colour colour = Colour::kPlain) { rows_.push_back({std::move(row), colour}); }
  bool empty() const { return rows_.empty(); }
  std::string render(const Screen& screen) const;

 private:
  struct Coloured {
    Row cells;
    Colour colour;
  };
  using Columns = std::vector<std::size_t>;  // their numbers, from left to right

  std::size_t width_of(std::size_t column) const;
  std::size_t least_width_of(std::size_t column) const;
  std::size_t total(const Columns& columns,
                    std::size_t (TextTable::*width)(std::size_t) const) const;
  bool fits(const Columns& columns, std::size_t width) const;
  bool is_same_in_all_rows(std::size_t column) const;
  std::size_t key_columns(const Columns& columns, std::size_t width) const;
  std::string said_once(Columns& columns, const Screen& screen) const;
  std::string line(const Row& cells, const Columns& columns,
                   const std::vector<std::size_t>& widths) const;
  std::string block(const Columns& columns, const Screen& screen) const;

  Row headings_, may_lack_;
  std::vector<Coloured> rows_;
};

}  // namespace nnd::cli
