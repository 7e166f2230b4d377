#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "cli/ping/grid.h"
#include "cli/ping/text.h"

namespace nnd::cli {

using nlohmann::json;

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

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
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
const char* class_of(const json& pair) {
  const std::string state = pair.at("state");
  if (state == "reachable") return "reachable";
  if (!pair.at("apart").get<bool>()) return "wrong";
  return state == "refused" ? "refused" : "unreachable";
}

std::string cell_of(const json& pair) {
  std::string shown = ping_cell(pair);
  if (pair.at("state") == "reachable" && !pair.at("bandwidth").empty())
    shown = fmt::format("{:.2f}", pair.at("bandwidth").back().at("there_gb_per_s").get<double>());
  auto hint = ping_line(pair);
  if (const auto msg = pair.value("msg", json()); msg.is_string()) hint += "\n" + text_of(msg);
  return fmt::format("<td class=\"{}\" title=\"{}\">{}</td>", class_of(pair), escaped(hint),
                     escaped(shown));
}

std::string ends_of(const json& end) {
  return fmt::format("{} {}", text_of(end.at("gid")), text_of(end.at("subnet")));
}

std::string grids(const json& pairs) {
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

std::string pairs_part(const json& pairs) {
  std::string rows;
  for (const auto& pair : pairs) {
    const auto latency = pair.value("latency_us", json::object());
    std::string speed;
    for (const auto& one : pair.value("bandwidth", json::array()))
      speed += fmt::format("{}{} B: {:.3f} / {:.3f}", speed.empty() ? "" : "; ",
                           one.at("size").dump(), one.at("there_gb_per_s").get<double>(),
                           one.at("back_gb_per_s").get<double>());
    const auto number = [](const json& object, const char* key) {
      return object.contains(key) ? fmt::format("{:.1f}", object.at(key).get<double>())
                                  : std::string("-");
    };
    rows += row({ping_port(pair.at("from")), ends_of(pair.at("from")), ping_port(pair.at("to")),
                 ends_of(pair.at("to")), pair.at("state"),
                 text_of(pair.value("errno_name", json())), text_of(pair.value("cause", json())),
                 number(pair, "connect_ms"), number(latency, "p50"), number(latency, "p99"),
                 speed.empty() ? "-" : speed, pair.at("policy")});
  }
  return "<h2>Pairs</h2>\n" +
         table({"from", "GID, subnet", "to", "GID, subnet", "state", "errno", "cause", "connect ms",
                "p50 us", "p99 us", "GB/s there / back", "policy"},
               rows);
}

// What is said of pairs, once each.
std::string sentences(const json& pairs) {
  std::string said;
  for (const auto& pair : pairs)
    if (pair.value("msg", json()).is_string())
      said += fmt::format("<li><b>{}</b> {} &rarr; {}: {}<br>{}</li>\n",
                          escaped(text_of(pair.value("cause", json()))),
                          escaped(ping_port(pair.at("from"))), escaped(ping_port(pair.at("to"))),
                          escaped(text_of(pair.at("msg"))),
                          escaped(text_of(pair.value("fix", json()))));
  if (said.empty()) return "";
  return "<details><summary>Causes, pair by pair</summary><ul>\n" + said + "</ul></details>\n";
}

std::string host_part(const json& host) {
  const auto check = host.value("check", json::object());
  std::string rows;
  for (const auto& hca : check.value("hcas", json::array())) {
    const auto pick = hca.value("pick", json::object());
    std::string why;
    for (const char* list : {"reasons", "rules"})
      for (const auto& one : hca.value(list, json::array()))
        why += (why.empty() ? "" : ", ") + text_of(one);
    rows += row({fmt::format("{}:{}", text_of(hca.at("name")), text_of(hca.at("port"))),
                 text_of(hca.value("netdev", json())), text_of(hca.value("mtu", json())),
                 text_of(pick.value("index", json())), text_of(pick.value("gid", json())),
                 text_of(pick.value("subnet", json())), text_of(hca.at("verdict")), why});
  }
  std::string out = fmt::format("<h2>{}: NCCL {}</h2>\n", escaped(text_of(host.at("host"))),
                                escaped(text_of(host.value("nccl", json()))));
  if (host.contains("problem"))
    out += "<p class=\"bad\">" + escaped(text_of(host.at("problem"))) + "</p>\n";
  out += table({"HCA", "netdev", "MTU", "GID index", "GID", "subnet", "verdict", "why"}, rows);
  for (const auto& verdict : check.value("verdicts", json::array()))
    out += fmt::format("<p>{} {} [{}]<br>{}</p>\n", escaped(text_of(verdict["decision"])),
                       escaped(text_of(verdict["fact"])), escaped(text_of(verdict["rule"])),
                       escaped(text_of(verdict["remedy"])));
  std::string proposal;
  for (const auto& line : check.value("proposal", json::array())) proposal += text_of(line) + "\n";
  return out + "<pre>" + escaped(proposal) + "</pre>\n";
}

}  // namespace

std::string render_ping_html(const json& result) {
  std::string out(kHead);
  const auto& verdict = result.at("result");
  out += "<h1>nccl-net-diag ping</h1>\n<p>" + escaped(text_of(verdict.at("text"))) + "</p>\n";
  for (const auto& fault : verdict.at("broken"))
    out += "<p class=\"bad\">" + escaped(text_of(fault)) + "</p>\n";
  const auto& pairs = result.at("pairs");
  out += grids(pairs) + pairs_part(pairs) + sentences(pairs);
  for (const auto& host : result.at("hosts")) out += host_part(host);
  return out + "</body></html>\n";
}

}  // namespace nnd::cli
