#include "cli/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "cli/common/html_text.h"
#include "cli/common/text_table.h"
#include "cli/report/graphs.h"
#include "cli/report/names.h"
#include "cli/report/page.h"
#include "log/natural_order.h"

namespace nnd::cli {

using report::Failure;
using report::Ns;
using report::Picture;
using report::Report;

namespace {

constexpr std::size_t kMostEvidence = 5'000;  // lines of logs, that claims rest on
constexpr std::size_t kMostLanes = 80;        // of the time line
constexpr std::size_t kMostRows = 2'000;      // hosts that are shown one by one

std::string head(const Report& report, const Words& words) {
  const char* look = report.found_cause() ? "bad" : report.warned ? "warn" : "good";
  std::string out = fmt::format("<h1 class=\"{}\">{}</h1>\n<dl class=\"parts\">\n", look,
                                html_text(words.verdict));
  for (const auto& part : words.parts) {
    out += "<dt>" + html_text(part.title) + "</dt><dd>";
    for (std::size_t i = 0; i < part.lines.size(); ++i)
      out += (i == 0 ? "" : "<br>") + html_text(part.lines[i]);
    out += "</dd>\n";
  }
  return out + "</dl>\n";
}

// What is known of an HCA, the worst of it.
enum class Health : std::uint8_t { kSeen, kOk, kWarned, kFailed, kGuilty };
constexpr std::array<const char*, 5> kHealthNames{"seen", "ok", "warned", "failed", "guilty"};

using Hcas = std::map<std::string, std::map<std::string, Health>>;  // by host and device

void note(Hcas& hcas, const report::Place& place, Health health) {
  if (place.host.empty() || place.dev.empty()) return;
  Health& known = hcas[place.host][place.dev];
  known = std::max(known, health);
}

Hcas health_of(const Report& report) {
  Hcas out;
  const auto& picture = report.picture;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& process = *picture.members[i].log;
    for (const auto& hca : process.hcas) note(out, {process.host, hca.dev.name, ""}, Health::kSeen);
    for (const auto& [number, connection] : process.connections)
      if (connection.ready_ns != 0) note(out, picture.place_of(i, connection.dev), Health::kOk);
    for (const auto& told : process.diagnoses)
      if (told.severity == log::Severity::kWarn)
        note(out, picture.place_of(i, told.dev), Health::kWarned);
  }
  for (const auto* failures : {&report.first.roots, &report.first.other})
    for (const auto& failure : *failures) {
      note(out, failure.here, Health::kFailed);
      note(out, failure.there, Health::kFailed);
    }
  for (const auto& wait : report.waits.network) note(out, wait.here, Health::kFailed);
  for (const auto& slow : report.slow) note(out, slow.place, Health::kGuilty);
  for (const auto& culprit : report.culprits) {
    using Of = report::Culprit::Kind;
    const bool rail = culprit.kind == Of::kRail, host_kind = culprit.kind == Of::kHost;
    if (!rail && !host_kind && culprit.kind != Of::kHca && culprit.kind != Of::kPort) continue;
    for (auto& [host, devices] : out)
      for (auto& [dev, health] : devices)
        if ((rail || host == culprit.place.host) && (host_kind || dev == culprit.place.dev))
          health = Health::kGuilty;
  }
  return out;
}

// Hosts that are all alike say the same as one line.
std::string map(const Report& report) {
  const auto hcas = health_of(report);
  std::vector<std::string> devices, hosts;
  for (const auto& [host, of] : hcas) {
    hosts.push_back(host);
    for (const auto& [dev, health] : of)
      if (std::find(devices.begin(), devices.end(), dev) == devices.end()) devices.push_back(dev);
  }
  if (devices.empty()) return {};
  std::sort(hosts.begin(), hosts.end(), log::natural_less);
  std::sort(devices.begin(), devices.end(), log::natural_less);
  std::string rows;
  std::size_t folded = 0;
  for (const auto& host : hosts) {
    const auto& of = hcas.at(host);
    const bool fine = std::all_of(of.begin(), of.end(),
                                  [](const auto& one) { return one.second <= Health::kOk; });
    if (fine && hosts.size() > kMostRows) {
      ++folded;
      continue;
    }
    rows += "<tr><th>" + html_text(host) + "</th>";
    for (const auto& dev : devices) {
      const auto found = of.find(dev);
      rows += found == of.end() ? "<td></td>"
                                : fmt::format("<td class=\"{}\" title=\"{} of {}: {}\">{}</td>",
                                              kHealthNames[static_cast<std::size_t>(found->second)],
                                              html_text(dev), html_text(host),
                                              kHealthNames[static_cast<std::size_t>(found->second)],
                                              found->second == Health::kGuilty ? "!" : "");
    }
    rows += "</tr>\n";
  }
  std::string out =
      "<h2>Hosts and HCAs</h2>\n<p class=\"key\"><span class=\"guilty\">to blame</span>"
      "<span class=\"failed\">part in what fails</span><span class=\"warned\">warned of</span>"
      "<span class=\"ok\">connected</span><span class=\"seen\">not used</span></p>\n"
      "<div class=\"wide\"><table class=\"map\"><thead><tr><th></th>";
  for (const auto& dev : devices) out += "<th>" + html_text(dev) + "</th>";
  out += "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
  if (folded != 0) out += fmt::format("<p>{} more hosts, with nothing to tell.</p>\n", folded);
  return out;
}

struct Mark {
  std::size_t host;
  Ns from, to;
  const char* colour;
  std::string what;
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
        std::tuple(mark.host, std::string_view(mark.colour), mark.from / step, mark.to / step),
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
    out.push_back({of(wait.member), wait.since, picture.last, "#bf8700",
                   fmt::format("{}: {}", who(picture, {wait.member}), wait.stall->kind)});
  for (const auto& failure : report.failures)
    out.push_back({of(failure.member), failure.at, failure.at,
                   failure.warned || failure.recovered ? "#bf8700" : "#cf222e",
                   fmt::format("{}: {}", who(picture, {failure.member}), failure.told->cause)});
  for (const auto& loss : report.first.losses)
    out.push_back({of(loss.member), loss.at, loss.at, "#8250df",
                   fmt::format("{}: gone", who(picture, {loss.member}))});
  return out;
}

// A lane for each host that has something to tell, the earliest first.
std::string time_line(const Report& report) {
  const auto& picture = report.picture;
  const auto marks = thinned(marks_of(report), picture);
  if (marks.empty() || picture.last <= picture.first) return {};
  std::map<std::size_t, Ns> first;
  for (const auto& mark : marks) {
    const auto [known, is_new] = first.emplace(mark.host, mark.from);
    if (!is_new) known->second = std::min(known->second, mark.from);
  }
  std::vector<std::size_t> lanes;
  for (const auto& [host, at] : first) lanes.push_back(host);
  std::sort(lanes.begin(), lanes.end(),
            [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
  const std::size_t all = lanes.size();
  lanes.resize(std::min(lanes.size(), kMostLanes));
  std::map<std::size_t, std::size_t> lane_of;
  for (std::size_t i = 0; i < lanes.size(); ++i) lane_of[lanes[i]] = i;
  const auto x = [&](Ns at) {
    return 1000.0 * static_cast<double>(at - picture.first) /
           static_cast<double>(picture.last - picture.first);
  };
  constexpr int kLane = 18;
  const auto height = static_cast<int>(lanes.size()) * kLane;
  std::string out = fmt::format(
      "<h2>Time line</h2>\n<p>{} to {} (UTC). Red: failures; yellow: waits and warnings; violet: "
      "processes that went away. The wheel zooms, dragging moves, a double click shows "
      "all.</p>\n<div "
      "style=\"display:grid;"
      "grid-template-columns:max-content 1fr\"><div>",
      clock_text(picture.first), clock_text(picture.last));
  for (const auto host : lanes)
    out += fmt::format("<div style=\"height:{}px;line-height:{}px;padding-right:.5rem\">{}</div>",
                       kLane, kLane, html_text(picture.hosts[host].name));
  out += fmt::format(
      "</div><div><svg id=\"line\" viewBox=\"0 0 1000 {}\" preserveAspectRatio=\"none\" "
      "style=\"width:100%;height:{}px\" data-begin=\"{}\" data-length=\"{}\">\n",
      height, height, static_cast<double>(picture.first) / 1e6,
      static_cast<double>(picture.last - picture.first) / 1e6);
  for (const auto& mark : marks) {
    const auto lane = lane_of.find(mark.host);
    if (lane == lane_of.end()) continue;
    out += fmt::format(
        "<rect x=\"{:.3f}\" y=\"{}\" width=\"{:.3f}\" height=\"{}\" fill=\"{}\" "
        "fill-opacity=\"{}\"><title>{} {}{}</title></rect>\n",
        x(mark.from), static_cast<int>(lane->second) * kLane + 2,
        std::max(1.5, x(mark.to) - x(mark.from)), kLane - 4, mark.colour,
        mark.to > mark.from ? "0.25" : "0.9", clock_text(mark.from), html_text(mark.what),
        mark.more == 0 ? "" : fmt::format(", and {} more", mark.more));
  }
  out += "</svg><div class=\"axis\" id=\"axis\"></div></div></div>\n";
  if (all > lanes.size()) out += fmt::format("<p>{} more hosts, later.</p>\n", all - lanes.size());
  return out;
}

PageRow line_row(const Report& report, const char* what, std::size_t member,
                 const log::Diagnosis& told, Ns at) {
  const auto& one = report.picture.members[member];
  return {what,
          clock_text(at),
          who(report.picture, {member}),
          told.event,
          or_dash(told.cause),
          or_dash(told.msg),
          or_dash(told.fix),
          fmt::format("{} seq {}", or_dash(one.file), told.seq)};
}

// The lines that the verdict rests on.
std::string evidence(const Report& report) {
  std::vector<PageRow> rows;
  std::size_t all = 0;
  const auto add = [&](const char* what, std::size_t member, const log::Diagnosis& told, Ns at) {
    if (++all <= kMostEvidence) rows.push_back(line_row(report, what, member, told, at));
  };
  for (const auto& sign : report.first.signs) add("sign", sign.member, *sign.told, sign.at);
  for (const auto& root : report.first.roots) add("first cause", root.member, *root.told, root.at);
  for (const auto& wait : report.waits.network)
    add("network wait", wait.member, wait.stall->told, wait.since);
  for (const auto& wait : report.waits.waits)
    if (!report::blames_network(*wait.stall))
      add("wait", wait.member, wait.stall->told, wait.since);
  for (const auto& other : report.first.other) add("other", other.member, *other.told, other.at);
  for (const auto& failure : report.first.followed)
    add("followed", failure.member, *failure.told, failure.at);
  if (rows.empty()) return {};
  auto out =
      "<h2>Lines that this rests on</h2>\n" +
      data_table("lines",
                 {"as", "at", "process", "event", "cause", "what was seen", "what to do", "log"},
                 rows);
  if (all > kMostEvidence)
    out += fmt::format("<p>{} more are in the logs.</p>\n", all - kMostEvidence);
  return out;
}

std::string processes(const Report& report) {
  const auto& picture = report.picture;
  std::map<std::size_t, std::size_t> failures, waits;
  for (const auto& failure : report.failures) ++failures[failure.member];
  for (const auto& wait : report.waits.waits) ++waits[wait.member];
  constexpr std::array<const char*, 4> kEndings{"clean", "running", "died", "log just ends"};
  std::vector<PageRow> rows;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& member = picture.members[i];
    rows.push_back({or_dash(member.rank), member.log->host, std::to_string(member.log->pid),
                    kEndings[static_cast<std::size_t>(member.ending)],
                    std::to_string(member.log->connections.size()), std::to_string(failures[i]),
                    std::to_string(waits[i]), clock_text(member.first), clock_text(member.last),
                    or_dash(member.file)});
  }
  return "<h2>Processes</h2>\n" +
         data_table("processes",
                    {"rank", "host", "pid", "ended", "connections", "failures", "waits",
                     "first sign", "last sign", "log"},
                    rows);
}

}  // namespace

std::string report_html(const Report& report, const Words& words) {
  return page_head() + head(report, words) + map(report) + rail_matrix(report) +
         wait_graph(report) + time_line(report) + evidence(report) + processes(report) + page_end();
}

}  // namespace nnd::cli
