#include "cli/rehearse/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "cli/common/text_table.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

// The slowest rank counts.
json collectives(const json& ranks) {
  json rows = json::array();
  for (const auto& rank : ranks) {
    const auto& own = rank.at("collectives");
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i == rows.size()) rows.push_back(own[i]);
      rows[i]["ms"] = std::max(rows[i]["ms"].get<double>(), own[i].at("ms").get<double>());
    }
  }
  for (auto& row : rows) {
    const double bytes = row.at("bytes").get<double>() * row.at("iterations").get<double>();
    row["algorithm_gb_per_s"] = bytes / 1e6 / std::max(row.at("ms").get<double>(), 1e-6);
  }
  return rows;
}

// Both ends of a connection have the same link.
void join_peers(json& connections) {
  std::map<std::pair<std::string, std::string>, const json*> ends;
  for (const auto& row : connections)
    if (row.contains("link")) ends[{row.at("link").dump(), row.at("dir")}] = &row;
  for (auto& row : connections) {
    if (!row.contains("link")) continue;
    const auto other =
        ends.find({row.at("link").dump(), row.at("dir") == "send" ? "recv" : "send"});
    if (other != ends.end())
      row["peer"] = {{"rank", other->second->at("rank")}, {"hca", other->second->at("hca")}};
  }
}

using PathKey = std::tuple<int, std::string, std::string, int>;  // rank, direction, HCA, peer

json paths(const json& ranks, const json& connections) {
  std::map<PathKey, json> found;
  std::map<PathKey, std::set<int>> channels;
  std::map<int, std::string> hosts;
  for (const auto& rank : ranks) {
    hosts[rank.at("rank")] = rank.at("host");
    for (const auto& row : rank.at("channels")) {
      const PathKey key{rank.at("rank"), row.at("dir"), row.at("hca"), row.at("peer_rank")};
      found[key]["connections"] = 0;
      channels[key].insert(row.at("channel").get<int>());
    }
  }
  for (const auto& row : connections) {
    const json peer = row.value("peer", json::object());
    const PathKey key{row.at("rank"), row.at("dir"), row.at("hca"), peer.value("rank", -1)};
    auto& path = found[key];
    if (path.is_null()) path = json::object();  // no channel of NCCL's lines: it failed before
    path["connections"] = path.value("connections", 0) + 1;
    path["bytes"] = path.value("bytes", std::size_t{0}) + row.value("bytes", std::size_t{0});
    path["failed"] = path.value("failed", 0) + row.value("failed", 0);
    if (peer.contains("hca")) path["peer"]["hca"] = peer.at("hca");
  }
  json rows = json::array();
  for (auto& [key, path] : found) {
    const auto& [rank, dir, hca, peer] = key;
    path["rank"] = rank;
    path["host"] = hosts[rank];
    path["dir"] = dir;
    path["hca"] = hca;
    path["channels"] = channels[key];
    if (peer >= 0) {
      path["peer"]["rank"] = peer;
      path["peer"]["host"] = hosts[peer];
    }
    rows.push_back(std::move(path));
  }
  return rows;
}

void append(json& all, const json& more) {
  for (const auto& one : more) all.push_back(one);
}

}  // namespace

json merge_parts(const std::vector<json>& parts) {
  json out{{"ranks", json::array()},
           {"connections", json::array()},
           {"hcas", json::array()},
           {"troubles", json::array()},
           {"failures", json::array()}};
  for (const auto& part : parts)
    for (auto& [name, all] : out.items()) append(all, part.at(name));
  join_peers(out["connections"]);
  out["collectives"] = collectives(out["ranks"]);
  out["paths"] = paths(out["ranks"], out["connections"]);
  std::set<std::string> networks, warnings;
  for (const auto& rank : out["ranks"]) {
    if (!rank.at("network").empty() && rank.at("network") != "") networks.insert(rank["network"]);
    for (const auto& warning : rank.at("nccl_warnings")) warnings.insert(warning);
  }
  out["networks"] = networks;
  out["nccl_warnings"] = warnings;
  return out;
}

namespace {

std::string text(const json& object, const char* key) {
  if (!object.contains(key) || object.at(key).is_null()) return "-";
  const auto& value = object.at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// "0-3,6"
std::string number_list(const json& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1].get<int>() + 1) ++end;
    out += (out.empty() ? "" : ",") + numbers[i].dump();
    if (end > i + 1) out += "-" + numbers[end - 1].dump();
    i = end;
  }
  return out.empty() ? "-" : out;
}

std::string hca_table(const json& merged) {
  TextTable table({"host", "HCA", "port", "link", "Gbit/s", "GID", "verdict", "reasons"});
  for (const auto& hca : merged.at("hcas")) {
    const auto& dev = hca.at("dev");
    std::string reasons;
    for (const auto& reason : hca.at("reasons"))
      reasons += (reasons.empty() ? "" : ", ") + reason.get<std::string>();
    table.add({text(hca, "host"), text(dev, "name"), text(dev, "port"), text(dev, "link_layer"),
               fmt::format("{:g}", dev.value("speed_mbps", 0) / 1000.0), text(dev, "gid"),
               text(hca, "verdict"), reasons.empty() ? "-" : reasons});
  }
  return table.empty() ? "" : "HCAs\n" + table.render() + "\n";
}

std::string path_table(const json& merged) {
  TextTable table({"rank", "host", "dir", "HCA", "channels", "conns", "peer", "peer host",
                   "peer HCA", "bytes", "failed"});
  for (const auto& row : merged.at("paths")) {
    const json peer = row.value("peer", json::object());
    table.add({text(row, "rank"), text(row, "host"), text(row, "dir"), text(row, "hca"),
               number_list(row.at("channels")), text(row, "connections"), text(peer, "rank"),
               text(peer, "host"), text(peer, "hca"), text(row, "bytes"), text(row, "failed")});
  }
  return table.empty() ? "" : "Channels\n" + table.render() + "\n";
}

std::string collective_table(const json& merged) {
  TextTable table({"collective", "bytes", "iterations", "ms", "GB/s (algorithm, host memory)"});
  for (const auto& row : merged.at("collectives"))
    table.add({text(row, "collective"), text(row, "bytes"), text(row, "iterations"),
               fmt::format("{:.2f}", row.at("ms").get<double>()),
               fmt::format("{:.3f}", row.at("algorithm_gb_per_s").get<double>())});
  return table.empty() ? "" : "Collectives\n" + table.render() + "\n";
}

}  // namespace

std::string render_rehearsal(const json& merged) {
  std::string out = hca_table(merged) + path_table(merged) + collective_table(merged);
  const auto& troubles = merged.at("troubles");
  out += fmt::format("Warnings and refusals: {}\n", troubles.empty() ? "none" : "");
  for (const auto& event : troubles)
    out += fmt::format("  {} {} {}: {} {}\n", text(event, "host"), text(event, "sev"),
                       text(event, "cause"), text(event, "msg"), event.value("fix", ""));
  for (const auto& warning : merged.at("nccl_warnings"))
    out += fmt::format("  NCCL: {}\n", warning.get<std::string>());
  return out + "\n";
}

}  // namespace nnd::cli
