#include "cli/report/time_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "cli/common/html_text.h"
#include "cli/common/time_text.h"
#include "cli/report/names.h"
#include "cli/report/page.h"

namespace nnd::cli {

using report::Ns;
using report::Picture;
using report::Report;

namespace {

constexpr std::size_t kMostLanes = 80;
constexpr std::size_t kMostMoments = 5'000;  // rows of the table
constexpr int kLane = 18;                    // pixels, as the page's style has it

struct Mark {
  std::size_t host;
  Ns from, to;
  const char* look;  // of the page's
  std::string who, what;
  std::size_t more = 0;  // alike, at about the same time
};

// Thousands of processes tell of one thing at once: who would tell their marks apart?
std::vector<Mark> thinned(const std::vector<Mark>& marks, const Picture& picture) {
  constexpr Ns kSteps = 2'000;
  const Ns step = std::max<Ns>((picture.last - picture.first) / kSteps, 1);
  std::map<std::tuple<std::size_t, std::string_view, Ns, Ns>, std::size_t> known;
  std::vector<Mark> out;
  for (const auto& mark : marks) {
    const auto [found, is_new] = known.emplace(
        std::tuple(mark.host, std::string_view(mark.look), mark.from / step, mark.to / step),
        out.size());
    if (is_new)
      out.push_back(mark);
    else
      ++out[found->second].more;
  }
  return out;
}

std::vector<Mark> marks_of(const Report& report) {
  std::vector<Mark> out;
  const auto& picture = report.picture;
  const auto of = [&](std::size_t member) { return picture.members[member].host; };
  for (const auto& wait : report.waits.waits)
    out.push_back({of(wait.member), wait.since, picture.last, "wait", who(picture, {wait.member}),
                   wait.stall->kind});
  for (const auto& failure : report.failures)
    out.push_back({of(failure.member), failure.at, failure.at,
                   failure.warned || failure.recovered ? "warning" : "failure",
                   who(picture, {failure.member}), failure.told->cause});
  for (const auto& loss : report.first.losses)
    out.push_back({of(loss.member), loss.at, loss.at, "gone", who(picture, {loss.member}), "gone"});
  return out;
}

std::string full_text(const Mark& mark) {
  return fmt::format("{} {}: {}{}", clock_text(mark.from), mark.who, mark.what,
                     mark.more == 0 ? "" : fmt::format(", and {} more", mark.more));
}

// Hosts that have something to tell, the earliest first.
std::vector<std::size_t> lanes_of(const std::vector<Mark>& marks) {
  std::map<std::size_t, Ns> first;
  for (const auto& mark : marks) {
    const auto [known, is_new] = first.emplace(mark.host, mark.from);
    if (!is_new) known->second = std::min(known->second, mark.from);
  }
  std::vector<std::size_t> out;
  for (const auto& [host, at] : first) out.push_back(host);
  std::sort(out.begin(), out.end(),
            [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
  return out;
}

// The same for who can't hover, and as text.
std::string moments(std::vector<Mark> marks, const Picture& picture) {
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.from < b.from; });
  std::vector<PageRow> rows;
  for (const auto& mark : marks) {
    if (rows.size() == kMostMoments) break;
    rows.push_back({clock_text(mark.from), mark.to > mark.from ? clock_text(mark.to) : "-",
                    picture.hosts[mark.host].name, mark.who, mark.what,
                    mark.more == 0 ? "-" : fmt::format("{}", mark.more)});
  }
  auto out = data_table("moments", {"at", "until", "host", "process", "what", "more alike"}, rows);
  if (rows.size() < marks.size())
    out += fmt::format("<p>{} more, later.</p>\n", marks.size() - rows.size());
  return out;
}

}  // namespace

std::string time_line(const Report& report) {
  const auto& picture = report.picture;
  const auto marks = thinned(marks_of(report), picture);
  if (marks.empty() || picture.last <= picture.first) return {};
  auto lanes = lanes_of(marks);
  const std::size_t all = lanes.size();
  lanes.resize(std::min(lanes.size(), kMostLanes));
  std::map<std::size_t, std::size_t> lane_of;
  for (std::size_t i = 0; i < lanes.size(); ++i) lane_of[lanes[i]] = i;
  const auto x = [&](Ns at) {
    return 1000.0 * static_cast<double>(at - picture.first) /
           static_cast<double>(picture.last - picture.first);
  };
  std::string names, bars, labels;
  std::set<std::size_t> labelled;
  for (const auto host : lanes) names += "<div>" + html_text(picture.hosts[host].name) + "</div>";
  for (const auto& mark : marks) {
    const auto lane = lane_of.find(mark.host);
    if (lane == lane_of.end()) continue;
    const auto y = static_cast<int>(lane->second) * kLane;
    bars += fmt::format(
        "<rect x=\"{:.3f}\" y=\"{}\" width=\"{:.3f}\" height=\"{}\" class=\"{}\"><title>{}"
        "</title></rect>\n",
        x(mark.from), y + 3, std::max(0.01, x(mark.to) - x(mark.from)), kLane - 6, mark.look,
        html_text(full_text(mark)));
    // One word a lane has room for.
    if (labelled.insert(lane->second).second)
      labels += fmt::format("<span data-x=\"{:.3f}\" data-y=\"{}\">{}</span>", x(mark.from), y,
                            html_text(mark.what));
  }
  const auto height = static_cast<int>(lanes.size()) * kLane;
  std::string out = fmt::format(
      "<h2>Time line</h2>\n<p>{} to {} (UTC). Red: failures; yellow: waits and warnings; violet: "
      "processes that went away. The wheel zooms, dragging moves, a double click shows all; a "
      "click "
      "on a mark tells what it is.</p>\n<div class=\"zoom\"><button>+</button>"
      "<button>&minus;</button><button>all</button></div>\n<div class=\"lanes\"><div "
      "class=\"names\">{}</div><div><div class=\"chart\"><svg id=\"line\" viewBox=\"0 0 1000 {}\" "
      "height=\"{}\" preserveAspectRatio=\"none\" data-begin=\"{}\" data-length=\"{}\">\n{}</svg>"
      "<div class=\"labels\">{}</div></div><div class=\"axis\" id=\"axis\"></div></div></div>\n"
      "<p id=\"mark\"></p>\n",
      clock_text(picture.first), clock_text(picture.last), names, height, height,
      static_cast<double>(picture.first) / 1e6,
      static_cast<double>(picture.last - picture.first) / 1e6, bars, labels);
  if (all > lanes.size()) out += fmt::format("<p>{} more hosts, later.</p>\n", all - lanes.size());
  return out + moments(marks, picture);
}

}  // namespace nnd::cli
