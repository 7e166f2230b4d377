#include "cli/demo/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/common/text_table.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

using Key = std::tuple<std::string, int>;  // a process and its connection

Key key_of(const json& event) { return {event.at("proc"), event.value("conn", 0)}; }

std::string text(const json& object, const std::string& key, const std::string& missing = "-") {
  if (!object.contains(key)) return missing;
  const auto& value = object.at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string join(const json& words, const std::string& missing) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word.get<std::string>();
  return out.empty() ? missing : out;
}

json process_of(const json& load) {
  const auto inner = load.value("inner", json::object());
  return {{"host", load.at("host")},
          {"pid", load.at("pid")},
          {"proc", load.at("proc")},
          {"rank", load.value("launch", json::object()).value("rank", -1)},
          {"version", load.value("version", "")},
          {"nccl", load.value("nccl_version", json())},
          {"net_api", load.value("net_api", 0)},
          {"wraps", inner.value("name", "nothing")},
          {"found_by", inner.value("method", "")},
          {"layers", load.value("layers", json::array())},
          {"log", load.value("log", "")}};
}

json hca_of(const json& event) {
  return {{"proc", event.at("proc")},
          {"dev", event.at("dev")},
          {"state", event.value("state", "")},
          {"verdict", event.at("verdict")},
          {"reasons", event.at("reasons")}};
}

// "INIT RTR RTS" of each of its QPs; the time is that of all transitions.
void add_transition(json& connection, const json& event) {
  const auto& qp = event.at("qp");
  auto& states = connection["qps"][qp.at("num").dump()];
  const bool failed = event.at("rc") != 0;
  states.push_back(text(qp, "to") + (failed ? " failed (errno " + text(event, "errno") + ")" : ""));
  connection["qp_us"] = connection.value("qp_us", 0.0) + event.at("dur_us").get<double>();
}

}  // namespace

json digest(const std::vector<json>& events) {
  json out{{"processes", json::array()},
           {"hcas", json::array()},
           {"connections", json::array()},
           {"troubles", json::array()},
           {"events", events.size()}};
  std::map<Key, json> connections;
  for (const auto& event : events) {
    const std::string kind = event.at("ev");
    auto* const connection = event.contains("conn") ? &connections[key_of(event)] : nullptr;
    if (kind == "plugin.load") out["processes"].push_back(process_of(event));
    if (kind == "hca.port") out["hcas"].push_back(hca_of(event));
    if (event.at("sev") != "info") out["troubles"].push_back(event);
    if (connection == nullptr) continue;
    if (kind == "conn.open") {
      for (const char* field : {"proc", "host", "conn", "dir", "link", "peer"})
        if (event.contains(field)) (*connection)[field] = event.at(field);
      (*connection)["dev"] = event.at("dev").value("name", "?");
    } else if (kind == "conn.ready") {
      (*connection)["ready_us"] = event.at("dur_us");
    } else if (kind == "conn.close") {
      for (const char* field : {"bytes", "completed", "failed", "lived_us"})
        if (event.contains(field)) (*connection)[field] = event.at(field);
    } else if (kind == "qp.transition") {
      add_transition(*connection, event);
    }
  }
  std::map<std::string, int> ranks;
  for (const auto& process : out["processes"])
    if (process.at("rank").is_number()) ranks[process.at("proc")] = process.at("rank");
  std::map<std::tuple<int, std::string, int>, json> ordered;
  for (auto& [key, connection] : connections)
    if (connection.contains("dir"))
      ordered[std::tuple_cat(std::tuple(ranks[std::get<0>(key)]), key)] = std::move(connection);
  for (auto& [key, connection] : ordered) out["connections"].push_back(std::move(connection));
  return out;
}

namespace {

std::string process_lines(const json& digest) {
  std::string out;
  for (const auto& process : digest.at("processes"))
    out += fmt::format(
        "rank {} (pid {} on {}): NCCL {}, net v{}, wraps {} (found by {}), layers: {}\n",
        text(process, "rank"), text(process, "pid"), text(process, "host"), text(process, "nccl"),
        text(process, "net_api"), text(process, "wraps"), text(process, "found_by"),
        join(process.at("layers"), "-"));
  return out;
}

std::map<std::string, std::string> ranks_by_process(const json& digest) {
  std::map<std::string, std::string> out;
  for (const auto& process : digest.at("processes"))
    out[process.at("proc")] = text(process, "rank");
  return out;
}

std::string hca_table(const json& digest, std::map<std::string, std::string>& ranks) {
  TextTable table({"rank", "HCA", "port", "netdev", "link", "Gbit/s", "GID", "subnet", "state",
                   "verdict", "reasons"});
  for (const auto& hca : digest.at("hcas")) {
    const auto& dev = hca.at("dev");
    table.add({ranks[hca.at("proc")], text(dev, "name"), text(dev, "port"), text(dev, "netdev"),
               text(dev, "link_layer"), fmt::format("{:g}", dev.value("speed_mbps", 0) / 1000.0),
               text(dev, "gid"), text(dev, "subnet"), text(hca, "state"), text(hca, "verdict"),
               join(hca.at("reasons"), "-")});
  }
  return table.render();
}

// "2 x INIT RTR RTS", or each QP's way where they differ.
std::string qp_ways(const json& connection) {
  std::map<std::string, int> ways;
  const auto qps = connection.value("qps", json::object());
  for (const auto& states : qps) {
    std::string way;
    for (const auto& state : states) way += (way.empty() ? "" : " ") + state.get<std::string>();
    ++ways[way];
  }
  std::string out;
  for (const auto& [way, count] : ways)
    out += fmt::format("{}{} x {}", out.empty() ? "" : "; ", count, way);
  return out.empty() ? "none seen" : out;
}

std::string milliseconds(const json& connection, const char* field) {
  if (!connection.contains(field)) return "-";
  return fmt::format("{:.2f}", connection.at(field).get<double>() / 1000);
}

std::string connection_table(const json& digest, std::map<std::string, std::string>& ranks) {
  TextTable table(
      {"rank", "conn", "dir", "HCA", "QPs", "QP ms", "ready ms", "bytes", "requests", "failed"});
  for (const auto& connection : digest.at("connections"))
    table.add({ranks[connection.at("proc")], text(connection, "conn"), text(connection, "dir"),
               text(connection, "dev"), qp_ways(connection), milliseconds(connection, "qp_us"),
               milliseconds(connection, "ready_us"), text(connection, "bytes"),
               text(connection, "completed"), text(connection, "failed")});
  return table.render();
}

}  // namespace

std::string render(const json& digest) {
  auto ranks = ranks_by_process(digest);
  std::string out = process_lines(digest);
  out += "\nHCAs\n" + hca_table(digest, ranks);
  out += "\nConnections\n" + connection_table(digest, ranks);
  const auto& troubles = digest.at("troubles");
  out += fmt::format("\nWarnings and errors: {}\n", troubles.empty() ? "none" : "");
  for (const auto& event : troubles)
    out += fmt::format("  rank {} {} {}: {} {}\n", ranks[event.at("proc")], text(event, "sev"),
                       text(event, "cause"), text(event, "msg"), text(event, "fix", ""));
  return out;
}

}  // namespace nnd::cli
