#include "cli/ping/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "cli/ping/grid.h"
#include "cli/common/text_table.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

// With its host: there may be more than two.
std::string name_of(const json& end) {
  return fmt::format("{}/{}", end.at("host").get<std::string>(), ping_port(end));
}

std::string text_or_dash(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

std::string number(const json& object, const char* key, const char* format = "{:.1f}") {
  return object.contains(key) ? fmt::format(fmt::runtime(format), object.at(key).get<double>())
                              : "-";
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1U << 20U && bytes % (1U << 20U) == 0) return fmt::format("{}M", bytes >> 20U);
  if (bytes >= 1U << 10U && bytes % (1U << 10U) == 0) return fmt::format("{}K", bytes >> 10U);
  return std::to_string(bytes);
}

std::string error_text(const json& pair) {
  std::string out;
  if (pair.contains("errno_name"))
    out = fmt::format("{} ({})", pair.at("errno_name").get<std::string>(),
                      pair.at("errno").get<int>());
  else if (pair.contains("status"))
    out = fmt::format("status {} {}", pair.at("status").get<int>(), pair.value("status_name", ""));
  if (const auto cause = pair.value("cause", json()); cause.is_string())
    out += (out.empty() ? "" : " ") + cause.get<std::string>();
  if (out.empty() && pair.value("why", json()).is_string()) out = pair.at("why");
  return out;
}

void host_part(const json& host, std::string& out) {
  const std::string name = host.at("host");
  out += fmt::format("{}: NCCL {}, net v{}\n", name, text_or_dash(host.value("nccl", json())),
                     text_or_dash(host.value("net_version", json())));
  if (host.contains("problem"))
    out += fmt::format("  PROBLEM: {}\n", host.at("problem").get<std::string>());
  const auto check = host.value("check", json::object());
  TextTable table(
      {"HCA", "netdev", "Gbit/s", "MTU", "GID index", "GID", "subnet", "verdict", "why"});
  for (const auto& hca : check.value("hcas", json::array())) {
    const auto pick = hca.value("pick", json::object());
    std::string why;
    for (const char* list : {"reasons", "rules"})
      for (const auto& one : hca.value(list, json::array()))
        why += (why.empty() ? "" : ", ") + one.get<std::string>();
    const auto mbps = hca.value("speed_mbps", 0);
    table.add({fmt::format("{}:{}", hca.value("name", ""), text_or_dash(hca.at("port"))),
               text_or_dash(hca.value("netdev", json())),
               mbps == 0 ? "-" : fmt::format("{:g}", mbps / 1000.0),
               text_or_dash(hca.value("mtu", json())), text_or_dash(pick.value("index", json())),
               text_or_dash(pick.value("gid", json())), text_or_dash(pick.value("subnet", json())),
               hca.value("verdict", ""), why.empty() ? "-" : why});
  }
  if (!table.empty()) out += table.render();
  for (const auto& verdict : check.value("verdicts", json::array()))
    out += fmt::format("  {} {} [{}, {}]\n          {}\n", verdict.value("decision", ""),
                       verdict.value("fact", ""), verdict.value("rule", ""),
                       verdict.value("cause", ""), verdict.value("remedy", ""));
  out += "\n";
}

void grid_part(const PingGrid& grid, std::string& out) {
  out +=
      fmt::format("Rows: {}, columns: {}; a number is the errno\n", grid.from_host, grid.to_host);
  std::vector<std::string> headings{""};
  headings.insert(headings.end(), grid.columns.begin(), grid.columns.end());
  TextTable table(headings);
  for (const auto& row : grid.rows) {
    std::vector<std::string> line{row};
    for (const auto& column : grid.columns) {
      const auto pair = grid.pairs.find({row, column});
      line.push_back(pair == grid.pairs.end() ? "-" : ping_cell(*pair->second));
    }
    table.add(std::move(line));
  }
  out += table.render() + "\n";
}

void reachable_part(const json& pairs, std::string& out) {
  TextTable table({"from", "to", "GIDs", "MTU", "connect ms", "p50 us", "p99 us", "size",
                   "GB/s there", "back", "policy"});
  for (const auto& pair : pairs) {
    if (pair.at("state") != "reachable") continue;
    bool again = false;
    for (const auto& row : pair.at("bandwidth")) {
      const auto& latency = pair.at("latency_us");
      table.add({again ? "" : name_of(pair.at("from")), again ? "" : name_of(pair.at("to")),
                 again ? ""
                       : fmt::format("{} - {}", text_or_dash(pair.at("from").at("gid")),
                                     text_or_dash(pair.at("to").at("gid"))),
                 again ? "" : text_or_dash(pair.at("path_mtu")),
                 again ? "" : number(pair, "connect_ms"), again ? "" : number(latency, "p50"),
                 again ? "" : number(latency, "p99"), size_text(row.at("size").get<std::size_t>()),
                 number(row, "there_gb_per_s", "{:.3f}"), number(row, "back_gb_per_s", "{:.3f}"),
                 again ? "" : pair.value("policy", "")});
      again = true;
    }
  }
  if (!table.empty()) out += table.render() + "\n";
}

// What is true of many pairs is said once, with the sentence of the first.
void others_part(const json& pairs, std::string& out) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const json*>> groups;
  for (const auto& pair : pairs) {
    if (pair.at("state") == "reachable") continue;
    const auto what = fmt::format("{} {}", pair.at("state").get<std::string>(), error_text(pair));
    if (!groups.contains(what)) order.push_back(what);
    groups[what].push_back(&pair);
  }
  constexpr std::size_t kNamed = 4;
  for (const auto& what : order) {
    const auto& group = groups[what];
    std::string names;
    for (std::size_t i = 0; i < std::min(kNamed, group.size()); ++i)
      names += fmt::format("{}{} - {}", i == 0 ? "" : ", ", name_of(group[i]->at("from")),
                           name_of(group[i]->at("to")));
    if (group.size() > kNamed) names += fmt::format(" and {} more", group.size() - kNamed);
    out += fmt::format("{}: {} pair{} ({})\n", what, group.size(), group.size() == 1 ? "" : "s",
                       names);
    const auto& first = *group.front();
    for (const char* key : {"msg", "fix", "nccl_warning"})
      if (const auto text = first.value(key, json()); text.is_string())
        out += fmt::format("  {}{}\n", std::string_view(key) == "nccl_warning" ? "NCCL: " : "",
                           text.get<std::string>());
  }
  if (!order.empty()) out += "\n";
}

void environment_part(const json& hosts, std::string& out) {
  std::vector<std::pair<std::string, std::string>> found;  // text, hosts
  for (const auto& host : hosts) {
    std::string text;
    for (const auto& line : host.value("check", json::object()).value("proposal", json::array()))
      text += fmt::format("  {}\n", line.get<std::string>());
    const std::string name = host.at("host");
    if (!found.empty() && found.back().first == text)
      found.back().second += ", " + name;
    else if (!text.empty())
      found.emplace_back(text, name);
  }
  for (const auto& [text, names] : found)
    out += fmt::format("Environment for a job ({}):\n{}\n", names, text);
}

}  // namespace

std::string ping_cell(const json& pair) {
  const std::string state = pair.at("state");
  if (state == "reachable") return "ok";
  if (state == "unreachable" && pair.contains("errno")) return pair.at("errno").dump();
  return state;
}

std::string ping_line(const json& pair) {
  std::string out = fmt::format("{} -> {}  {}", name_of(pair.at("from")), name_of(pair.at("to")),
                                pair.at("state").get<std::string>());
  if (pair.at("state") != "reachable") return out + "  " + error_text(pair);
  out += fmt::format("  p50 {} us", number(pair.at("latency_us"), "p50"));
  for (const auto& row : pair.at("bandwidth"))
    out += fmt::format("  {}: {}/{} GB/s", size_text(row.at("size").get<std::size_t>()),
                       number(row, "there_gb_per_s", "{:.3f}"),
                       number(row, "back_gb_per_s", "{:.3f}"));
  return out;
}

std::string render_ping(const json& result) {
  std::string out;
  for (const auto& host : result.at("hosts")) host_part(host, out);
  const auto& pairs = result.at("pairs");
  if (result.at("matrix").get<bool>())
    for (const auto& grid : ping_grids(pairs)) grid_part(grid, out);
  reachable_part(pairs, out);
  others_part(pairs, out);
  environment_part(result.at("hosts"), out);
  const auto& verdict = result.at("result");
  out += verdict.at("text").get<std::string>() + "\n";
  for (const auto& fault : verdict.at("broken"))
    out += fmt::format("NOT FINE: {}\n", fault.get<std::string>());
  return out;
}

}  // namespace nnd::cli
