#include "cli/report/rail_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "cli/common/html_text.h"
#include "cli/report/names.h"
#include "log/natural_order.h"

namespace nnd::cli {

using report::Report;

namespace {

struct Cell {
  std::size_t connections = 0, ready = 0, failing = 0;
  double bytes = 0;
};
using Rail = std::pair<std::string, std::string>;  // from, to

std::map<Rail, Cell> rails_of(const Report& report) {
  std::map<Rail, Cell> out;
  const auto& picture = report.picture;
  for (std::size_t i = 0; i < picture.members.size(); ++i)
    for (const auto& [number, connection] : picture.members[i].log->connections) {
      if (connection.dir != log::Direction::kSend || connection.dev.name.empty()) continue;
      const auto to = picture.peer_place(i, connection.peer, number).dev;
      if (to.empty()) continue;
      Cell& cell = out[{connection.dev.name, to}];
      ++cell.connections;
      if (connection.ready_ns != 0) ++cell.ready;
      cell.bytes += static_cast<double>(connection.bytes.value_or(0));
    }
  for (const auto& failure : report.first.roots)
    if (!failure.here.dev.empty() && !failure.there.dev.empty())
      ++out[{failure.here.dev, failure.there.dev}].failing;
  for (const auto& wait : report.waits.network)
    if (!wait.here.dev.empty() && !wait.there.dev.empty())
      ++out[{wait.here.dev, wait.there.dev}].failing;
  return out;
}

std::vector<std::string> in_order(const std::set<std::string>& names) {
  std::vector<std::string> out(names.begin(), names.end());
  std::sort(out.begin(), out.end(), log::natural_less);
  return out;
}

}  // namespace

std::string rail_matrix(const Report& report) {
  constexpr std::size_t kMostDevices = 64;
  const auto rails = rails_of(report);
  std::set<std::string> from, to;
  for (const auto& [rail, cell] : rails) {
    from.insert(rail.first);
    to.insert(rail.second);
  }
  if (from.empty() || from.size() > kMostDevices || to.size() > kMostDevices) return {};
  std::string out =
      "<h2>Rails</h2>\n<p>Connections from the HCAs of a name to those of another, all hosts "
      "together.</p>\n<div class=\"wide\"><table class=\"map\"><thead><tr><th>from</th>";
  for (const auto& name : in_order(to)) out += "<th>" + html_text(name) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& name : in_order(from)) {
    out += "<tr><th>" + html_text(name) + "</th>";
    for (const auto& other : in_order(to)) {
      const auto found = rails.find({name, other});
      if (found == rails.end()) {
        out += "<td></td>";
        continue;
      }
      const Cell& cell = found->second;
      out += fmt::format(
          "<td class=\"{}\" title=\"{} connections, {} ready, {} told of a failure, {} "
          "sent\">{}</td>",
          cell.failing != 0 ? "failed"
          : cell.ready != 0 ? "ok"
                            : "seen",
          cell.connections, cell.ready, cell.failing, bytes_text(cell.bytes),
          cell.failing != 0 ? fmt::format("{} fail", cell.failing)
          : cell.bytes > 0  ? bytes_text(cell.bytes)
                            : fmt::format("{}", cell.connections));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace nnd::cli
