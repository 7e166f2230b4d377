// A table for a terminal: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

namespace nnd::cli {

// What stands in a cell where nothing is known.
inline std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

template <typename T>
std::string or_dash(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings) : rows_{std::move(headings)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  std::string render() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace nnd::cli
