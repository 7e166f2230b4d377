#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "cli/common/job_failures.h"
#include "cli/common/nccl_lines.h"
#include "cli/rehearse/report.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

using HostOf = std::function<std::string(int)>;

// Each collective and size is run twice, the first time to warm up.
json collectives_of(const softcuda::RankResult& rank) {
  json rows = json::array();
  bool warm = false;
  for (const auto& event : rank.events) {
    if (event.at("event") != "collective") continue;
    if (warm)
      rows.push_back({{"collective", event.at("collective")},
                      {"bytes", event.at("bytes")},
                      {"iterations", event.at("iterations")},
                      {"ms", event.at("ms")}});
    warm = !warm;
  }
  return rows;
}

int nccl_version_of(const softcuda::RankResult& rank) {
  for (const auto& event : rank.events)
    if (event.at("event") == "loaded") return event.at("nccl");
  return 0;
}

std::string hca_name(const json& dev) {
  return dev.value("name", "?") + ":" + std::to_string(dev.value("port", 1));
}

// By the process's random number; -1 where no launcher's variable told it.
std::map<std::string, int> ranks_of(const std::vector<json>& events) {
  std::map<std::string, int> ranks;
  for (const auto& event : events)
    if (event.at("ev") == "plugin.load")
      ranks[event.at("proc")] = event.value("launch", json::object()).value("rank", -1);
  return ranks;
}

// NCCL's net devices by rank and index; two merged HCAs are one: "mlx5_0+mlx5_1:1".
using NetDevices = std::map<std::pair<int, int>, std::string>;

NetDevices net_devices_of(const std::vector<json>& events) {
  auto ranks = ranks_of(events);
  NetDevices found;
  for (const auto& event : events)
    if (event.at("ev") == "net.device") {
      const auto& dev = event.at("dev");
      found[{ranks[event.at("proc")], dev.at("index").get<int>()}] = hca_name(dev);
    }
  return found;
}

json channels_of(const NcclLines& lines, int rank, const NetDevices& devices) {
  json rows = json::array();
  for (const auto& channel : lines.channels) {
    if ((channel.sends ? channel.from : channel.to) != rank) continue;
    const auto device = devices.find({rank, channel.device});
    rows.push_back({{"channel", channel.channel},
                    {"dir", channel.sends ? "send" : "recv"},
                    {"peer_rank", channel.sends ? channel.to : channel.from},
                    {"hca", device != devices.end() ? device->second
                                                    : "net " + std::to_string(channel.device)}});
  }
  return rows;
}

json rank_row(const softcuda::RankResult& rank, const std::string& host,
              const NetDevices& devices) {
  const auto lines = read_nccl_lines(rank.output);
  return {{"rank", rank.rank},
          {"host", host},
          {"done", rank.done},
          {"nccl", nccl_version_of(rank)},
          {"network", lines.network},
          {"nccl_warnings", lines.warnings},
          {"collectives", collectives_of(rank)},
          {"channels", channels_of(lines, rank.rank, devices)}};
}

json connections_of(const std::vector<json>& events, const HostOf& host_of) {
  auto ranks = ranks_of(events);
  std::map<std::pair<std::string, int>, json> found;
  for (const auto& event : events) {
    const std::string kind = event.at("ev");
    if (!event.contains("conn") ||
        (kind != "conn.open" && kind != "conn.ready" && kind != "conn.close"))
      continue;
    const std::string proc = event.at("proc");
    json& row = found[{proc, event.at("conn").get<int>()}];
    row["rank"] = ranks[proc];
    row["host"] = host_of(ranks[proc]);
    for (const char* field : {"dir", "link", "channel", "bytes", "failed"})
      if (event.contains(field)) row[field] = event.at(field);
    if (kind == "conn.ready") row["ready_us"] = event.at("dur_us");
    if (event.contains("dev")) row["hca"] = hca_name(event.at("dev"));
  }
  json rows = json::array();
  for (auto& [key, row] : found)
    if (row.contains("dir")) rows.push_back(std::move(row));
  return rows;
}

// One row per host, HCA and port, however many ranks saw it.
json hcas_of(const std::vector<json>& events, const HostOf& host_of) {
  auto ranks = ranks_of(events);
  std::set<std::pair<std::string, std::string>> seen;
  json rows = json::array();
  for (const auto& event : events) {
    if (event.at("ev") != "hca.port") continue;
    const auto& dev = event.at("dev");
    const auto host = host_of(ranks[event.at("proc")]);
    if (!seen.insert({host, hca_name(dev)}).second) continue;
    rows.push_back({{"host", host},
                    {"dev", dev},
                    {"verdict", event.at("verdict")},
                    {"reasons", event.at("reasons")}});
  }
  return rows;
}

}  // namespace

json report_part(const softcuda::JobResult& result, double deadline_sec, const HostOf& host_of,
                 const std::vector<json>& log_events) {
  json out{{"ranks", json::array()},
           {"connections", connections_of(log_events, host_of)},
           {"hcas", hcas_of(log_events, host_of)},
           {"troubles", json::array()},
           {"failures", failures_of(result, deadline_sec)}};
  const NetDevices devices = net_devices_of(log_events);
  for (const auto& rank : result.ranks)
    out["ranks"].push_back(rank_row(rank, host_of(rank.rank), devices));
  for (const auto& event : log_events)
    if (event.at("sev") != "info") out["troubles"].push_back(event);
  return out;
}

}  // namespace nnd::cli
