// How often what was judged, as a table of Markdown.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace nnd::verdict {

using Counts = std::map<std::string, int>;  // by judgement

std::string table(const std::string& title, const std::map<std::string, Counts>& rows,
                  const std::vector<std::string>& classes);
std::string table_row(const std::string& name, const Counts& counts,
                      const std::vector<std::string>& classes);

}  // namespace nnd::verdict
