#include "cli/report/wait_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/common/html_text.h"
#include "cli/common/number_list.h"
#include "cli/common/time_text.h"
#include "cli/report/names.h"
#include "cli/report/page.h"
#include "cli/report/sink_text.h"

namespace nnd::cli {

using report::Report;
using report::Sink;
using report::Wait;

namespace {

constexpr int kFarthest = 6;                // columns: who is farther off is shown together
constexpr std::size_t kMostOneByOne = 64;   // more are drawn together, by what they wait in
constexpr std::size_t kMostWaitedFor = 16;  // whom the others wait for at last, one by one

// Processes of the graph that are drawn as one.
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
    case Sink::Kind::kBehind:
      return "behind in collectives";
    case Sink::Kind::kMismatched:
      return "in another collective";
    case Sink::Kind::kNotCome:
      return "makes no communicator";
  }
  return {};
}

// Each process that waits is in it once: by how many others stand between it and whom it waits for
// at last. Those that wait in a circle, or for nobody that is known, have a place too.
class WaitGraph {
 public:
  explicit WaitGraph(const Report& report) : report_(report) {
    for (const auto& wait : report.waits.waits) {
      kinds_.emplace(wait.member, wait.stall->kind);
      if (wait.peer)
        waiters_[*wait.peer].insert(wait.member);
      else if (const auto& address = wait.stall->told.peer.gid; !address.empty())
        strangers_[address].insert(wait.member);
    }
    add_sinks();
    add_others_waited_for();
    add_waiting();
    add_edges();
  }

  std::string svg() const {
    std::size_t most = 0;
    for (const auto& column : columns_) most = std::max(most, column.size());
    const int width = 20 + kAcross * static_cast<int>(columns_.size()) - (kAcross - kWide),
              height = 20 + kDown * static_cast<int>(most);
    auto out = fmt::format("<div class=\"wide\"><svg class=\"graph\" width=\"{}\" height=\"{}\">\n",
                           width, height);
    for (std::size_t i = 0; i < nodes_.size(); ++i) out += box(i);
    for (const auto& [edge, count] : edges_) out += arrow(edge.first, edge.second, count);
    return out + "</svg></div>\n";
  }

 private:
  static constexpr int kWide = 230, kHigh = 40, kAcross = 310, kDown = 54;

  static std::string fitting(const std::string& text) {
    constexpr std::size_t kMost = 34;
    return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
  }

  std::pair<int, int> place(std::size_t node) const {
    const auto [column, row] = places_.at(node);
    return {10 + kAcross * static_cast<int>(column), 10 + kDown * static_cast<int>(row)};
  }

  std::string box(std::size_t i) const {
    const auto [x, y] = place(i);
    const Node& node = nodes_[i];
    return fmt::format(
        "<g><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"{}/><text x=\"{}\" "
        "y=\"{}\">{}</text><text x=\"{}\" y=\"{}\">{}</text><title>{}: {}</title></g>\n",
        x, y, kWide, kHigh, node.sink ? " class=\"sink\"" : "", x + 8, y + 16,
        html_text(fitting(node.title)), x + 8, y + 32, html_text(fitting(node.what)),
        html_text(node.title), html_text(node.tip.empty() ? node.what : node.tip));
  }

  // Between the sides that face each other; around the left one where both are in one column.
  std::string arrow(std::size_t from, std::size_t to, std::size_t count) const {
    const auto [from_x, from_y] = place(from);
    const auto [to_x, to_y] = place(to);
    const bool to_left = to_x<from_x, to_right = to_x> from_x;
    const int x = to_right ? from_x + kWide : from_x, y = from_y + kHigh / 2,
              end = to_left ? to_x + kWide : to_x, at = to_y + kHigh / 2,
              bend = to_right ? 40 : -40, tip = to_left ? 7 : -7;
    return fmt::format(
        "<path class=\"edge\" d=\"M{} {} C{} {} {} {} {} {}\"><title>{} for {}</title></path><path "
        "class=\"tip\" d=\"M{} {} l{} -4 v8 z\"/>\n",
        x, y, x + bend, y, end + (to_left ? 40 : -40), at, end, at,
        count_of(count, "process waits", "processes wait"), html_text(nodes_[to].title), end, at,
        tip);
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
    for (const auto& sink : report_.waits.sinks) {
      if (nodes_.size() == kMostWaitedFor) break;
      const auto title = sink.members.empty() ? sink.address : who(report_.picture, sink.members);
      const auto node =
          add(0, {title, short_text(sink.kind), true, sink.members, sink_text(report_, sink)});
      if (sink.members.empty()) stranger_node_.emplace(sink.address, node);
    }
  }

  // That do not wait themselves, as far as is known: those of which nothing else is told.
  void add_others_waited_for() {
    std::vector<std::size_t> rest;
    for (const auto& [member, by] : waiters_)
      if (!kinds_.contains(member) && !node_of_.contains(member)) rest.push_back(member);
    if (rest.size() > kMostWaitedFor) {
      add(0, {who(report_.picture, rest), "tell of no wait", false, rest, ranks_of(rest)});
    } else {
      for (const auto member : rest)
        add(0, {who(report_.picture, {member}), "tells of no wait", false, {member}, {}});
    }
    for (const auto& [address, by] : strangers_) {
      if (stranger_node_.contains(address)) continue;
      const bool together = stranger_node_.size() >= kMostWaitedFor;
      const auto known = together ? stranger_node_.find("") : stranger_node_.end();
      const auto node =
          known != stranger_node_.end()
              ? known->second
              : add(0, {together ? "other addresses" : address, "no log here", false, {}, {}});
      if (together) stranger_node_.emplace("", node);
      stranger_node_.emplace(address, node);
    }
  }

  // From these on to who waits for them, and on.
  void spread(std::deque<std::size_t> open, std::map<std::size_t, int>& far) const {
    while (!open.empty()) {
      const auto at = open.front();
      open.pop_front();
      const auto found = waiters_.find(at);
      if (found == waiters_.end()) continue;
      for (const auto member : found->second)
        if (far.emplace(member, far[at] + 1).second) open.push_back(member);
    }
  }

  std::map<std::size_t, int> distances() const {
    std::map<std::size_t, int> far;
    std::deque<std::size_t> open;
    for (const auto& [member, node] : node_of_) {
      far.emplace(member, 0);
      open.push_back(member);
    }
    spread(open, far);
    open.clear();
    for (const auto& [address, members] : strangers_)
      for (const auto member : members)
        if (far.emplace(member, 1).second) open.push_back(member);
    spread(open, far);
    for (const auto& [member, kind] : kinds_)
      if (far.emplace(member, 1).second) spread({member}, far);
    return far;
  }

  void add_waiting() {
    const auto far = distances();
    const bool one_by_one = far.size() <= kMostOneByOne;
    std::map<std::tuple<int, std::string, std::size_t>, Node> groups;
    for (const auto& [member, steps] : far) {
      if (steps == 0) continue;
      const auto kind = kinds_.find(member);
      const auto what = kind == kinds_.end() ? std::string() : kind->second;
      const int column = std::min(steps, kFarthest);
      Node& node = groups[{column, one_by_one ? "" : what, one_by_one ? member : 0}];
      node.members.push_back(member);
      node.what = what;
    }
    for (auto& [key, node] : groups) {
      const int column = std::get<0>(key);
      node.title = who(report_.picture, node.members);
      if (node.members.size() > 1) node.tip = node.what + ", " + ranks_of(node.members);
      if (column == kFarthest) node.what += ", farther off";
      add(static_cast<std::size_t>(column), std::move(node));
    }
  }

  // "ranks 0-6,8"
  std::string ranks_of(const std::vector<std::size_t>& members) const {
    std::set<int> ranks;
    for (const auto member : members)
      if (const auto rank = report_.picture.members[member].rank) ranks.insert(*rank);
    return ranks.empty() ? "" : "ranks " + number_list(ranks);
  }

  void add_edge(std::size_t from_member, std::size_t to_node) {
    if (const auto from = node_of_.find(from_member);
        from != node_of_.end() && from->second != to_node)
      ++edges_[{from->second, to_node}];
  }

  void add_edges() {
    for (const auto& [of, members] : waiters_)
      if (const auto to = node_of_.find(of); to != node_of_.end())
        for (const auto member : members) add_edge(member, to->second);
    for (const auto& [address, members] : strangers_)
      for (const auto member : members) add_edge(member, stranger_node_.at(address));
  }

  const Report& report_;
  std::map<std::size_t, std::set<std::size_t>> waiters_;    // by whom they wait for
  std::map<std::string, std::set<std::size_t>> strangers_;  // by the address they wait for
  std::map<std::string, std::size_t> stranger_node_;
  std::map<std::size_t, std::string> kinds_;  // of each that waits
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

std::string wait_graph(const Report& report) {
  if (report.waits.waits.empty()) return {};
  std::vector<PageRow> rows;
  for (const auto& wait : report.waits.waits) rows.push_back(wait_row(report, wait));
  std::string out = "<h2>Who waits for whom</h2>\n";
  out += "<p>On the left who is waited for at last; to the right who waits.</p>\n" +
         WaitGraph(report).svg();
  return out + data_table("waits",
                          {"process", "kind", "waits for", "from", "to", "since", "connections",
                           "what was seen"},
                          rows);
}

}  // namespace nnd::cli
