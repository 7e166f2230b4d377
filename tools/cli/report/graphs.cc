#include "cli/report/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "cli/common/html_text.h"
#include "cli/report/names.h"
#include "cli/report/page.h"
#include "cli/report/verdict.h"
#include "log/natural_order.h"

namespace nnd::cli {

using report::Ns;
using report::Report;
using report::Sink;
using report::Wait;

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

constexpr int kFarthest = 6;  // columns: who is farther off is shown together
constexpr std::size_t kMostOneByOne = 48;

// Processes of a graph that are drawn as one.
struct Node {
  std::string title, what;
  bool sink = false;
  std::vector<std::size_t> members;
  std::string tip;
};

std::string short_text(Sink::Kind kind) {
  switch (kind) {
    case Sink::Kind::kIdle:
      return "asks for nothing";
    case Sink::Kind::kStopped:
      return "does not run";
    case Sink::Kind::kDied:
      return "died";
    case Sink::Kind::kLeft:
      return "has ended";
    case Sink::Kind::kSilent:
      return "says nothing of a wait";
    case Sink::Kind::kNoLog:
      return "has no log here";
    case Sink::Kind::kNetwork:
      return "waits for the network";
    case Sink::Kind::kCycle:
      return "wait for each other";
  }
  return {};
}

class WaitGraph {
 public:
  explicit WaitGraph(const Report& report) : report_(report) {
    for (const auto& wait : report.waits.waits)
      if (wait.peer) {
        waiters_[*wait.peer].insert(wait.member);
        kinds_.emplace(wait.member, wait.stall->kind);
      }
    add_sinks();
    add_waiting();
    add_edges();
  }

  std::string svg() const {
    constexpr int kWide = 230, kHigh = 40, kAcross = 300, kDown = 54;
    std::size_t most = 0;
    for (const auto& column : columns_) most = std::max(most, column.size());
    const auto place = [&](std::size_t node) {
      const auto [column, row] = places_.at(node);
      return std::pair{10 + kAcross * static_cast<int>(column), 10 + kDown * static_cast<int>(row)};
    };
    const int width = 20 + kAcross * static_cast<int>(columns_.size()),
              height = 20 + kDown * static_cast<int>(most);
    auto out = fmt::format("<div class=\"wide\"><svg class=\"graph\" width=\"{}\" height=\"{}\">\n",
                           width, height);
    for (const auto& [edge, count] : edges_) {
      const auto [from_x, from_y] = place(edge.first);
      const auto [to_x, to_y] = place(edge.second);
      const int x = from_x, y = from_y + kHigh / 2, to = to_x + kWide, at = to_y + kHigh / 2;
      out += fmt::format("<path d=\"M{} {} C{} {} {} {} {} {}\"><title>{}</title></path>\n", x, y,
                         x - 40, y, to + 40, at, to, at,
                         count_of(count, "process waits", "processes wait"));
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto [x, y] = place(i);
      out += fmt::format(
          "<g><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"{}/><text x=\"{}\" "
          "y=\"{}\">{}</text><text x=\"{}\" y=\"{}\">{}</text><title>{}: {}</title></g>\n",
          x, y, kWide, kHigh, nodes_[i].sink ? " class=\"sink\"" : "", x + 8, y + 16,
          html_text(fitting(nodes_[i].title)), x + 8, y + 32, html_text(fitting(nodes_[i].what)),
          html_text(nodes_[i].title),
          html_text(nodes_[i].tip.empty() ? nodes_[i].what : nodes_[i].tip));
    }
    return out + "</svg></div>\n";
  }

 private:
  static std::string fitting(const std::string& text) {
    constexpr std::size_t kMost = 34;
    return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
  }

  std::size_t add(std::size_t column, Node node) {
    if (columns_.size() <= column) columns_.resize(column + 1);
    places_.emplace_back(column, columns_[column].size());
    columns_[column].push_back(nodes_.size());
    for (const auto member : node.members) node_of_.emplace(member, nodes_.size());
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  void add_sinks() {
    constexpr std::size_t kMost = 12;
    const auto& sinks = report_.waits.sinks;
    for (std::size_t i = 0; i < std::min(sinks.size(), kMost); ++i) {
      const auto& sink = sinks[i];
      const auto title = sink.members.empty() ? sink.address : who(report_.picture, sink.members);
      add(0, {title, short_text(sink.kind), true, sink.members, sink_text(report_, sink)});
    }
  }

  // By how many others stand between them and whom they wait for at last.
  void add_waiting() {
    std::map<std::size_t, int> far;
    std::deque<std::size_t> open;
    for (const auto& [member, node] : node_of_) {
      far.emplace(member, 0);
      open.push_back(member);
    }
    while (!open.empty()) {
      const auto at = open.front();
      open.pop_front();
      const auto found = waiters_.find(at);
      if (found == waiters_.end()) continue;
      for (const auto member : found->second)
        if (far.emplace(member, far[at] + 1).second) open.push_back(member);
    }
    const bool one_by_one = far.size() <= kMostOneByOne;
    std::map<std::pair<int, std::string>, Node> groups;
    for (const auto& [member, steps] : far) {
      if (steps == 0) continue;
      const int column = std::min(steps, kFarthest);
      const auto kind = kinds_.find(member);
      const auto what = kind == kinds_.end() ? std::string() : kind->second;
      Node& node = groups[{column, one_by_one ? fmt::format("{}", member) : what}];
      node.members.push_back(member);
      node.what = what;
    }
    for (auto& [key, node] : groups) {
      node.title = who(report_.picture, node.members);
      if (key.first == kFarthest) node.what += ", farther off";
      add(static_cast<std::size_t>(key.first), std::move(node));
    }
  }

  void add_edges() {
    for (const auto& [of, members] : waiters_)
      for (const auto member : members) {
        const auto from = node_of_.find(member), to = node_of_.find(of);
        if (from != node_of_.end() && to != node_of_.end() && from->second != to->second)
          ++edges_[{from->second, to->second}];
      }
  }

  const Report& report_;
  std::map<std::size_t, std::set<std::size_t>> waiters_;  // by whom they wait for
  std::map<std::size_t, std::string> kinds_;
  std::vector<Node> nodes_;
  std::vector<std::vector<std::size_t>> columns_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // column, row
  std::map<std::size_t, std::size_t> node_of_;               // by process
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> edges_;
};

PageRow wait_row(const Report& report, const Wait& wait) {
  const auto& picture = report.picture;
  return {who(picture, {wait.member}),
          wait.stall->kind,
          wait.peer ? who(picture, {*wait.peer}) : wait.stall->told.peer.gid,
          place_text(wait.here),
          place_text(wait.there),
          clock_text(wait.since),
          std::to_string(wait.stall->conns),
          wait.stall->told.msg};
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

std::string wait_graph(const Report& report) {
  if (report.waits.waits.empty()) return {};
  std::vector<PageRow> rows;
  for (const auto& wait : report.waits.waits) rows.push_back(wait_row(report, wait));
  std::string out = "<h2>Who waits for whom</h2>\n";
  if (!report.waits.sinks.empty())
    out += "<p>On the left who is waited for at last; to the right who waits.</p>\n" +
           WaitGraph(report).svg();
  return out + data_table("waits",
                          {"process", "kind", "waits for", "from", "to", "since", "connections",
                           "what was seen"},
                          rows);
}

}  // namespace nnd::cli
