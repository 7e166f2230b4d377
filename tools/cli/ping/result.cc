#include "cli/ping/result.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/common/call_error.h"
#include "cli/common/event_json.h"
#include "cli/common/exit_code.h"
#include "config/nearest.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

json hcas_of(const json& host) {
  return host.value("check", json::object()).value("hcas", json::array());
}

std::string port_name(const json& hca) {
  return fmt::format("{}:{}", hca.value("name", ""),
                     hca.at("port").is_number() ? hca.at("port").get<int>() : 0);
}

json find_hca(const json& host, const std::string& port) {
  for (const auto& hca : hcas_of(host))
    if (port_name(hca) == port) return hca;
  return json::object();
}

bool fits(const std::string& pattern, const std::string& port) {
  const auto colon = port.rfind(':');
  return fnmatch(pattern.c_str(), port.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), port.substr(0, colon).c_str(), 0) == 0;
}

[[noreturn]] void no_such_port(const json& host, const std::string& pattern,
                               const std::vector<std::string>& ports) {
  const std::string name = host.value("host", "?");
  for (const auto& hca : hcas_of(host)) {
    if (!fits(pattern, port_name(hca))) continue;
    std::string why = hca.value("verdict", "");
    for (const auto& reason : hca.value("reasons", json::array()))
      why += ", " + reason.get<std::string>();
    throw CallError(kNotExamined, "hca",
                    fmt::format("NCCL would not use {} on {}: {}", port_name(hca), name, why),
                    pattern);
  }
  std::vector<std::string> names;
  for (const auto& port : ports) names.push_back(port.substr(0, port.rfind(':')));
  const auto near = config::nearest(pattern, {names.begin(), names.end()});
  throw CallError(kWrongCall, "hca",
                  fmt::format("no HCA of {} is called {}{}; there {}: {}", name, pattern,
                              near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                              ports.size() == 1 ? "is" : "are", fmt::join(ports, ", ")),
                  pattern, near);
}

// What the QPs really had goes before what was to be expected.
json end_of(const json& host, const std::string& port, const json& report) {
  const auto hca = find_hca(host, port);
  const auto pick = hca.value("pick", json::object());
  const auto used = report.value("events", json::object()).value("own", json());
  const auto colon = port.rfind(':');
  json out{{"host", host.value("host", "?")},           {"hca", port.substr(0, colon)},
           {"port", std::stoi(port.substr(colon + 1))}, {"netdev", hca.value("netdev", json())},
           {"mtu", hca.value("mtu", json())},           {"gid_index", pick.value("index", json())},
           {"gid", pick.value("gid", json())},          {"subnet", pick.value("subnet", json())},
           {"rules", hca.value("rules", json::array())}};
  if (used.is_object())
    for (const char* key : {"gid_index", "gid", "subnet", "netdev"})
      if (used.contains(key)) out[key] = used.at(key);
  return out;
}

// The end that knows best why it failed.
struct Told {
  json event;
  const char* end = "from";
};

Told told_by(const json& from, const json& to) {
  Told out;
  int best = 0;
  for (const auto& [end, report] :
       {std::pair<const char*, const json&>("from", from), {"to", to}}) {
    const auto first = report.value("events", json::object()).value("first", json());
    if (!first.is_object()) continue;
    const int says = log::evidence(diagnosis_from(Fields(first)));
    if (says <= best) continue;
    best = says;
    out = {first, end};
  }
  return out;
}

json rules_of(const json& from, const json& to) {
  json out = json::array();
  for (const auto& [end, report] : {std::pair<const char*, const json&>("from", from), {"to", to}})
    for (auto rule : report.value("events", json::object()).value("rules", json::array())) {
      rule["end"] = end;
      const auto same = [&](const json& other) {
        return other.value("rule", "") == rule.value("rule", "") && other.at("end") == rule["end"];
      };
      if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(rule));
    }
  return out;
}

bool refused_by_rule(const json& rules) {
  return std::any_of(rules.begin(), rules.end(),
                     [](const json& rule) { return rule.value("ev", "") == "policy.refuse"; });
}

// One that failed by itself, not because the other had.
const json& failed_half(const json& from, const json& to) {
  const bool own = !from.value("done", false) && from.value("why", "") != "cancelled";
  return own ? from : to;
}

// What NCCL's own TCP sockets are bound to.
std::string sockets_of(const json& host) {
  const auto oob = host.value("check", json::object())
                       .value("system", json::object())
                       .value("oob", json::object());
  const auto text = [&](const char* key) {
    const auto value = oob.value(key, json());
    return value.is_string() ? value.get<std::string>() : std::string("?");
  };
  return fmt::format("{}: {} {}", host.value("host", "?"), text("netdev"), text("address"));
}

// No verb failed, and nothing came.
void add_silence(const json& from_host, const json& to_host, json& out) {
  out["msg"] = fmt::format(
      "Neither a connection nor a failed verb before the deadline: NCCL's own TCP sockets may not "
      "reach each other ({}; {}).",
      sockets_of(from_host), sockets_of(to_host));
  out["fix"] =
      "Set NCCL_SOCKET_IFNAME to the interface by which these hosts reach each other, and look for "
      "a firewall between them.";
}

// GIDs of one link say nothing about another link's.
bool link_local(const json& subnet) {
  return subnet.is_string() && subnet.get_ref<const std::string&>().starts_with("fe80:");
}

void add_failure(const json& from, const json& to, json& out) {
  const auto [event, end] = told_by(from, to);
  const bool late = from.value("late", false) || to.value("late", false);
  const auto kind = event.is_object() ? event.value("ev", "") : "";
  out["state"] = refused_by_rule(out.at("rules")) ? "refused"
                 : kind == "qp.transition"        ? "unreachable"
                 : late && kind != "wc.error"     ? "silent"
                                                  : "failed";
  out["end"] = end;
  json told = event;
  if (out["state"] == "refused")
    for (const auto& rule : out.at("rules"))
      if (rule.value("ev", "") == "policy.refuse" && (rule.at("end") == end || !told.is_object()))
        told = rule;
  const auto& blamed = failed_half(from, to);
  out["stage"] = blamed.value("stage", json());
  out["why"] = blamed.value("why", json());
  if (const auto words = blamed.value("nccl_warning", json()); words.is_string())
    out["nccl_warning"] = words;
  if (!told.is_object()) return;
  for (const char* key : {"cause", "msg", "fix"}) out[key] = told.value(key, json());
  for (const char* key : {"errno", "status", "status_name", "to"})
    if (event.contains(key)) out[std::string(key) == "to" ? "transition" : key] = event.at(key);
  if (const int error = out.value("errno", 0); error != 0) {
    const char* const name = strerrorname_np(error);
    out["errno_name"] = name != nullptr ? name : std::to_string(error);
  }
}

}  // namespace

std::vector<std::string> select_ports(const json& host, const std::vector<std::string>& patterns) {
  auto ports = host.value("devices", std::vector<std::string>());
  std::erase(ports, "");
  if (patterns.empty()) return ports;
  std::vector<std::string> out;
  for (const auto& pattern : patterns) {
    bool found = false;
    for (const auto& port : ports) {
      if (!fits(pattern, port)) continue;
      found = true;
      if (std::find(out.begin(), out.end(), port) == out.end()) out.push_back(port);
    }
    if (!found) no_such_port(host, pattern, ports);
  }
  return out;
}

std::vector<PingPair> plan_pairs(std::size_t from_host, const std::vector<std::string>& from,
                                 std::size_t to_host, const std::vector<std::string>& to,
                                 bool matrix) {
  std::vector<PingPair> out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (matrix) {
      for (const auto& other : to) out.push_back({from_host, to_host, from[i], other});
    } else if (std::find(to.begin(), to.end(), from[i]) != to.end()) {
      out.push_back({from_host, to_host, from[i], from[i]});
    } else if (i < to.size()) {
      out.push_back({from_host, to_host, from[i], to[i]});
    }
  }
  return out;
}

json pair_result(const PingPair& pair, const std::vector<json>& hosts,
                 const PingConductor::Outcome& outcome) {
  const auto &from = outcome.from, &to = outcome.to;
  json out{{"from", end_of(hosts[pair.from_host], pair.from, from)},
           {"to", end_of(hosts[pair.to_host], pair.to, to)},
           {"rules", rules_of(from, to)},
           {"seconds", outcome.seconds}};
  const auto &own = out["from"]["subnet"], &other = out["to"]["subnet"];
  const bool other_subnet =
      own.is_string() && other.is_string() && (own != other || link_local(own));
  out["path_mtu"] = from.value("events", json::object()).value("path_mtu", json());
  if (from.contains("connect_ms")) out["connect_ms"] = from.at("connect_ms");
  if (from.value("done", false) && to.value("done", false)) {
    out["state"] = "reachable";
    out["latency_us"] = from.at("latency");
    out["verified_bytes"] = from.value("verified_bytes", std::uint64_t{0}) +
                            to.value("verified_bytes", std::uint64_t{0});
    out["bandwidth"] = json::array();
    const auto &there = from.at("streams"), &back = to.at("streams");
    for (std::size_t i = 0; i < there.size(); ++i)
      out["bandwidth"].push_back({{"size", there[i].at("size")},
                                  {"there_gb_per_s", there[i].at("gb_per_s")},
                                  {"back_gb_per_s", back.at(i).at("gb_per_s")}});
  } else {
    add_failure(from, to, out);
    if (out["state"] == "silent" && out["stage"] == "connect" && !out.contains("msg"))
      add_silence(hosts[pair.from_host], hosts[pair.to_host], out);
  }
  const auto state = out["state"];
  out["apart"] = other_subnet && (state == "unreachable" || state == "refused");
  out["policy"] = refused_by_rule(out["rules"]) ? "refused"
                  : out["rules"].empty()        ? "fine"
                                                : "warned";
  out["troubles"] = json::array();
  for (const auto* report : {&from, &to})
    for (const auto& trouble :
         report->value("events", json::object()).value("troubles", json::array()))
      out["troubles"].push_back(trouble);
  return out;
}

}  // namespace nnd::cli
