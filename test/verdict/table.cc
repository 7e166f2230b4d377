#include "verdict/table.h"

#include <fmt/format.h>

namespace nnd::verdict {

std::string table_row(const std::string& name, const Counts& counts,
                      const std::vector<std::string>& classes) {
  std::string out = "| " + name + " |";
  for (const std::string& one : classes) {
    const auto count = counts.find(one);
    out += count == counts.end() ? "  |" : fmt::format(" {} |", count->second);
  }
  return out + "\n";
}

std::string table(const std::string& title, const std::map<std::string, Counts>& rows,
                  const std::vector<std::string>& classes) {
  std::string out = fmt::format("| {} |", title), rule = "\n| --- |";
  for (const std::string& one : classes) {
    out += " " + one + " |";
    rule += " --- |";
  }
  out += rule + "\n";
  for (const auto& [name, counts] : rows) out += table_row(name, counts, classes);
  return out;
}

}  // namespace nnd::verdict
