#include "cli/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "cli/common/html_text.h"
#include "cli/common/markup.h"
#include "cli/common/text_table.h"
#include "cli/report/names.h"
#include "log/natural_order.h"

namespace nnd::cli {

using report::Failure;
using report::Ns;
using report::Picture;
using report::Report;

namespace {

constexpr std::size_t kMostEvidence = 200;  // of logs, that claims rest on
constexpr std::size_t kMostLanes = 80;      // of the time line
constexpr std::size_t kMostRows = 2'000;    // hosts or processes that are shown one by one

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>nccl-net-diag report</title>
<style>
:root { color-scheme: light dark; --line: #8884; --bad: #cf222e; --warn: #bf8700; --good: #1a7f37; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h1 { font-size: 1.35rem; border-left: .4rem solid var(--good); padding-left: .75rem; }
h1.bad { border-color: var(--bad); } h1.warn { border-color: var(--warn); }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
.parts { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; }
.parts dt { font-weight: 600; } .parts dd { margin: 0; }
.wide { overflow-x: auto; max-height: 40rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .2rem .5rem; text-align: left; vertical-align: top; }
thead th { position: sticky; top: 0; background: Canvas; } .sort th { cursor: pointer; }
.map td { text-align: center; min-width: 2.5rem; }
.ok { background: #1a7f3733; } .seen { background: #8882; } .warned { background: #bf870066; }
.failed { background: #cf222e44; } .guilty { background: #cf222e; color: #fff; font-weight: 700; }
.key span { padding: .1rem .5rem; margin-right: .5rem; }
input { font: inherit; padding: .2rem .5rem; margin: .25rem 0; }
svg { width: 100%; border: 1px solid var(--line); } svg text { fill: currentColor; font: 11px system-ui, sans-serif; }
</style></head><body>
)";

// Sorting by a heading, filtering by a text, zooming the time line with the wheel.
constexpr std::string_view kScript = R"(<script>
for (const table of document.querySelectorAll("table.sort"))
  table.tHead.addEventListener("click", event => {
    const at = event.target.cellIndex, body = table.tBodies[0], down = table.dataset.by === String(at);
    const text = row => row.cells[at].textContent;
    const rows = [...body.rows].sort((a, b) => text(a).localeCompare(text(b), "en", {numeric: true}));
    body.append(...(down ? rows.reverse() : rows));
    table.dataset.by = down ? "" : at;
  });
for (const input of document.querySelectorAll("input.filter"))
  input.addEventListener("input", () => {
    for (const row of document.getElementById(input.dataset.table).tBodies[0].rows)
      row.hidden = !row.textContent.toLowerCase().includes(input.value.toLowerCase());
  });
const line = document.getElementById("line");
if (line) line.addEventListener("wheel", event => {
  event.preventDefault();
  const box = line.viewBox.baseVal, at = box.x + box.width * event.offsetX / line.clientWidth;
  const width = Math.min(1000, Math.max(1, box.width * (event.deltaY > 0 ? 1.25 : 0.8)));
  box.x = Math.min(1000 - width, Math.max(0, at - (at - box.x) * width / box.width));
  box.width = width;
}, {passive: false});
</script>
)";

std::string table(const std::string& id, const std::vector<std::string>& headings,
                  const std::string& rows) {
  std::string out = fmt::format(
      "<input class=\"filter\" data-table=\"{}\" placeholder=\"filter\" aria-label=\"filter\">\n"
      "<div class=\"wide\"><table class=\"sort\" id=\"{}\"><thead>",
      id, id);
  return out + markup_row(headings, "th") + "</thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

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
  for (const auto& culprit : report.culprits)
    for (auto& [host, devices] : out)
      for (auto& [dev, health] : devices) {
        const bool host_fits =
            culprit.kind == report::Culprit::Kind::kRail || host == culprit.place.host;
        const bool dev_fits =
            culprit.kind == report::Culprit::Kind::kHost || dev == culprit.place.dev;
        if (host_fits && dev_fits && culprit.kind != report::Culprit::Kind::kAll &&
            culprit.kind != report::Culprit::Kind::kPair)
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
};

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
  const auto marks = marks_of(report);
  const auto& picture = report.picture;
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
      "processes that went away. The wheel zooms.</p>\n<div style=\"display:grid;"
      "grid-template-columns:max-content 1fr\"><div>",
      clock_text(picture.first), clock_text(picture.last));
  for (const auto host : lanes)
    out += fmt::format("<div style=\"height:{}px;line-height:{}px;padding-right:.5rem\">{}</div>",
                       kLane, kLane, html_text(picture.hosts[host].name));
  out += fmt::format(
      "</div><svg id=\"line\" viewBox=\"0 0 1000 {}\" preserveAspectRatio=\"none\" "
      "style=\"height:{}px\">\n",
      height, height);
  for (const auto& mark : marks) {
    const auto lane = lane_of.find(mark.host);
    if (lane == lane_of.end()) continue;
    out += fmt::format(
        "<rect x=\"{:.3f}\" y=\"{}\" width=\"{:.3f}\" height=\"{}\" fill=\"{}\" "
        "fill-opacity=\"{}\"><title>{} {}</title></rect>\n",
        x(mark.from), static_cast<int>(lane->second) * kLane + 2,
        std::max(1.5, x(mark.to) - x(mark.from)), kLane - 4, mark.colour,
        mark.to > mark.from ? "0.25" : "0.9", clock_text(mark.from), html_text(mark.what));
  }
  out += "</svg></div>\n";
  if (all > lanes.size()) out += fmt::format("<p>{} more hosts, later.</p>\n", all - lanes.size());
  return out;
}

std::string line_row(const Report& report, const char* what, std::size_t member,
                     const log::Diagnosis& told, Ns at) {
  const auto& one = report.picture.members[member];
  return markup_row({what, clock_text(at), who(report.picture, {member}), told.event,
                     or_dash(told.cause), or_dash(told.msg), or_dash(told.fix),
                     fmt::format("{} seq {}", or_dash(one.file), told.seq)});
}

// The lines that the verdict rests on.
std::string evidence(const Report& report) {
  std::string rows;
  std::size_t shown = 0;
  const auto add = [&](const char* what, std::size_t member, const log::Diagnosis& told, Ns at) {
    if (++shown <= kMostEvidence) rows += line_row(report, what, member, told, at);
  };
  for (const auto& sign : report.first.signs) add("sign", sign.member, *sign.told, sign.at);
  for (const auto& root : report.first.roots) add("first cause", root.member, *root.told, root.at);
  for (const auto& wait : report.waits.network)
    add("network wait", wait.member, wait.stall->told, wait.since);
  for (const auto& wait : report.waits.waits)
    if (!report::blames_network(wait.stall->kind))
      add("wait", wait.member, wait.stall->told, wait.since);
  for (const auto& other : report.first.other) add("other", other.member, *other.told, other.at);
  for (const auto& failure : report.first.followed)
    add("followed", failure.member, *failure.told, failure.at);
  if (rows.empty()) return {};
  auto out =
      "<h2>Lines that this rests on</h2>\n" +
      table("lines",
            {"as", "at", "process", "event", "cause", "what was seen", "what to do", "log"}, rows);
  if (shown > kMostEvidence)
    out += fmt::format("<p>{} more in --json.</p>\n", shown - kMostEvidence);
  return out;
}

std::string processes(const Report& report) {
  const auto& picture = report.picture;
  std::map<std::size_t, std::size_t> failures, waits;
  for (const auto& failure : report.failures) ++failures[failure.member];
  for (const auto& wait : report.waits.waits) ++waits[wait.member];
  constexpr std::array<const char*, 4> kEndings{"clean", "running", "died", "log just ends"};
  std::string rows;
  std::size_t folded = 0;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& member = picture.members[i];
    const bool dull =
        !failures.contains(i) && !waits.contains(i) &&
        (member.ending == report::Ending::kClean || member.ending == report::Ending::kRunning);
    if (dull && picture.members.size() > kMostRows) {
      ++folded;
      continue;
    }
    rows += markup_row({or_dash(member.rank), member.log->host, std::to_string(member.log->pid),
                        kEndings[static_cast<std::size_t>(member.ending)],
                        std::to_string(member.log->connections.size()), std::to_string(failures[i]),
                        std::to_string(waits[i]), clock_text(member.first), clock_text(member.last),
                        or_dash(member.file)});
  }
  auto out = "<h2>Processes</h2>\n" + table("processes",
                                            {"rank", "host", "pid", "ended", "connections",
                                             "failures", "waits", "first sign", "last sign", "log"},
                                            rows);
  if (folded != 0) out += fmt::format("<p>{} more, with nothing to tell.</p>\n", folded);
  return out;
}

}  // namespace

std::string report_html(const Report& report, const Words& words) {
  return std::string(kHead) + head(report, words) + map(report) + time_line(report) +
         evidence(report) + processes(report) + std::string(kScript) + "</body></html>\n";
}

}  // namespace nnd::cli
