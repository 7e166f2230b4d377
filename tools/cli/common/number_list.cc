#include "cli/common/number_list.h"

#include "cli/common/text_table.h"

namespace nnd::cli {

std::string number_list(const std::set<int>& numbers) {
  std::string out;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    out += (out.empty() ? "" : ",") + std::to_string(first);
    if (last > first) out += "-" + std::to_string(last);
  }
  return or_dash(out);
}

std::string rank_list(const std::set<int>& ranks) {
  if (ranks.empty()) return {};
  return (ranks.size() == 1 ? "rank " : "ranks ") + number_list(ranks);
}

}  // namespace nnd::cli
