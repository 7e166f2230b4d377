// A table for a terminal: columns as wide as their widest cell, numbers to the right. Where that is
// wider than the screen, cells get several lines; where even words don't fit, each row becomes a
// list of its cells.
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
  // As many cells as there are headings.
  void add(Row row, Colour colour = Colour::kPlain) { rows_.push_back({std::move(row), colour}); }
  bool empty() const { return rows_.empty(); }
  std::string render(const Screen& screen) const;

 private:
  struct Coloured {
    Row cells;
    Colour colour;
  };

  std::vector<std::size_t> widths() const;
  bool fit(std::size_t width, std::vector<std::size_t>& widths) const;
  std::string line(const Row& cells, const std::vector<std::size_t>& widths) const;
  std::string list(const Coloured& row, const Screen& screen) const;

  Row headings_;
  std::vector<Coloured> rows_;
};

}  // namespace nnd::cli
