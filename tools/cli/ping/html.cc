#include "cli/ping/html.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "cli/common/text_table.h"
#include "cli/ping/text.h"

namespace nnd::cli {

namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>nccl-net-diag ping</title>
<style>
:root { color-scheme: light dark; --line: #8884; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left; white-space: nowrap; }
.grid td { text-align: center; min-width: 3.5rem; }
.reachable { background: #1a7f3733; } .unreachable { background: #88888822; }
.wrong { background: #cf222e44; font-weight: 600; } .refused { background: #9a670033; }
pre { padding: .75rem; border: 1px solid var(--line); overflow-x: auto; }
.bad { color: #cf222e; }
</style></head><body>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string row(const std::vector<std::string>& cells, const char* tag = "td") {
  std::string out = "<tr>";
  for (const auto& cell : cells) out += fmt::format("<{}>{}</{}>", tag, escaped(cell), tag);
  return out + "</tr>\n";
}

std::string table(const std::vector<std::string>& headings, const std::string& rows) {
  return "<div class=\"wide\"><table>\n" + row(headings, "th") + rows + "</table></div>\n";
}

// Ends in different subnets that nothing joins are no fault; everything else that fails is.
const char* class_of(const PairResult& pair) {
  if (pair.reachable()) return "reachable";
  if (!pair.apart) return "wrong";
  return pair.state == PairState::kRefused ? "refused" : "unreachable";
}

std::string cell_of(const PairResult& pair) {
  std::string shown = ping_cell(pair);
  if (!pair.bandwidth.empty()) shown = fmt::format("{:.2f}", pair.bandwidth.back().there_gb_per_s);
  auto hint = ping_line(pair);
  if (pair.told && !pair.told->msg.empty()) hint += "\n" + pair.told->msg;
  return fmt::format("<td class=\"{}\" title=\"{}\">{}</td>", class_of(pair), escaped(hint),
                     escaped(shown));
}

std::string addresses_of(const PairEnd& end) {
  return fmt::format("{} {}", or_dash(end.gid), or_dash(end.subnet));
}

std::string grids(const std::vector<PairResult>& pairs) {
  std::string out;
  for (const auto& grid : ping_grids(pairs)) {
    out += fmt::format(
        "<h2>{} (rows) and {} (columns)</h2>\n<p>A number with a point is GB/s there; a whole one "
        "is the errno. Green pairs can talk, grey ones are in subnets that nothing joins, red ones "
        "are wrong.</p>\n<div class=\"wide\"><table class=\"grid\">\n",
        escaped(grid.from_host), escaped(grid.to_host));
    auto headings = grid.columns;
    headings.insert(headings.begin(), "");
    out += row(headings, "th");
    for (const auto& from : grid.rows) {
      out += "<tr><th>" + escaped(from) + "</th>";
      for (const auto& to : grid.columns) {
        const auto pair = grid.pairs.find({from, to});
        out += pair != grid.pairs.end() ? cell_of(*pair->second) : "<td>-</td>";
      }
      out += "</tr>\n";
    }
    out += "</table></div>\n";
  }
  return out;
}

std::string pairs_part(const std::vector<PairResult>& pairs) {
  std::string rows;
  for (const auto& pair : pairs) {
    std::string speed;
    for (const auto& one : pair.bandwidth)
      speed += fmt::format("{}{} B: {:.3f} / {:.3f}", speed.empty() ? "" : "; ", one.size,
                           one.there_gb_per_s, one.back_gb_per_s);
    const auto latency = [&](double Latency::*figure) {
      return rounded(pair.latency ? std::optional((*pair.latency).*figure) : std::nullopt);
    };
    rows +=
        row({pair.from.port_name(), addresses_of(pair.from), pair.to.port_name(),
             addresses_of(pair.to), text_of(pair.state), or_dash(pair.error_name()),
             or_dash(pair.told ? pair.told->cause : ""), rounded(pair.connect_ms),
             latency(&Latency::p50_us), latency(&Latency::p99_us), or_dash(speed), pair.policy()});
  }
  return "<h2>Pairs</h2>\n" +
         table({"from", "GID, subnet", "to", "GID, subnet", "state", "errno", "cause", "connect ms",
                "p50 us", "p99 us", "GB/s there / back", "policy"},
               rows);
}

// What is said of pairs, once each.
std::string sentences(const std::vector<PairResult>& pairs) {
  std::string said;
  for (const auto& pair : pairs)
    if (pair.told && !pair.told->msg.empty())
      said += fmt::format("<li><b>{}</b> {} &rarr; {}: {}<br>{}</li>\n",
                          escaped(or_dash(pair.told->cause)), escaped(pair.from.port_name()),
                          escaped(pair.to.port_name()), escaped(pair.told->msg),
                          escaped(or_dash(pair.told->fix)));
  if (said.empty()) return "";
  return "<details><summary>Causes, pair by pair</summary><ul>\n" + said + "</ul></details>\n";
}

std::string host_part(const HostDescription& host) {
  std::string rows;
  for (const auto& port : host.ports) {
    auto why = port.reasons;
    why.insert(why.end(), port.rules.begin(), port.rules.end());
    rows += row({port.name(), or_dash(port.netdev), or_dash(port.mtu), or_dash(port.gid_index),
                 or_dash(port.gid), or_dash(port.subnet), port.verdict,
                 fmt::format("{}", fmt::join(why, ", "))});
  }
  auto out = fmt::format("<h2>{}: NCCL {}</h2>\n", escaped(host.host), escaped(or_dash(host.nccl)));
  if (!host.problem.empty()) out += "<p class=\"bad\">" + escaped(host.problem) + "</p>\n";
  out += table({"HCA", "netdev", "MTU", "GID index", "GID", "subnet", "verdict", "why"}, rows);
  for (const auto& verdict : host.verdicts)
    out += fmt::format("<p>{} {} [{}]<br>{}</p>\n", escaped(verdict.decision),
                       escaped(verdict.fact), escaped(verdict.rule), escaped(verdict.remedy));
  std::string proposal;
  for (const auto& line : host.proposal) proposal += line + "\n";
  return out + "<pre>" + escaped(proposal) + "</pre>\n";
}

}  // namespace

std::string render_ping_html(const PingResult& result) {
  std::string out(kHead);
  out += "<h1>nccl-net-diag ping</h1>\n<p>" + escaped(result.text) + "</p>\n";
  for (const auto& fault : result.broken) out += "<p class=\"bad\">" + escaped(fault) + "</p>\n";
  out += grids(result.pairs) + pairs_part(result.pairs) + sentences(result.pairs);
  for (const auto& host : result.hosts) out += host_part(host);
  return out + "</body></html>\n";
}

}  // namespace nnd::cli
