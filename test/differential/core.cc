#include "differential/core.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "driver/nccl_cache.h"
#include "softcuda/fabric_job.h"
#include "softcuda/job.h"
#include "support/event_log.h"
#include "support/temp_dir.h"

namespace nnd::differential {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// What the plugin tells of an HCA.
struct Told {
  std::string distance;  // to this rank's GPU; empty: another GPU is nearer
  std::string way;       // for GPUDirect RDMA; "none": there is no way
  bool too_far = false;
};

std::map<int, Told> told_of_devices(const std::vector<json>& events, const std::string& gpu) {
  std::map<std::string, Told> by_name;
  std::map<int, Told> out;
  for (const json& e : events) {
    if (!e.contains("dev")) continue;
    const std::string all = e["dev"]["name"];  // of a merged device: "mlx5_0+mlx5_1", of one card
    const std::string name = all.substr(0, all.find('+'));
    if (e["ev"] == "hca.port" && e.contains("gpus"))
      for (const json& nearest : e["gpus"]["nearest"])
        if (nearest == gpu) by_name[name].distance = e["gpus"]["distance"];
    if (e["ev"] == "gdr.state") {
      by_name[name].way = e["way"];
      by_name[name].too_far = e.value("cause", "") == "GDR-DIST";
    }
    if (e["dev"].contains("index") && by_name.contains(name))
      out[e["dev"]["index"]] = by_name[name];
  }
  return out;
}

// The path types of NCCL's graph (v2.25.1-1, v2.26.2-1 and v2.27.7-1 src/graph/topo.h): one more
// came with 2.26, and another with 2.27.
std::string path_type(int type, const std::string& nccl) {
  const int pix = nccl < "2.26" ? 3 : 4;
  const int phb = nccl < "2.26" ? 6 : nccl < "2.27" ? 7 : 8;
  return type == pix       ? "PIX"
         : type == pix + 1 ? "PXB"
         : type == phb     ? "PHB"
         : type == phb + 1 ? "SYS"
                           : std::to_string(type);
}

void compare(const std::string& nccl, const std::string& output, const std::map<int, Told>& told,
             std::vector<std::string>& out, unsigned long& compared) {
  static const std::regex kDecision(
      R"(GPU Direct RDMA (Enabled|Disabled) for GPU \S+ / HCA (\w+) \(distance (\d+) (?:<=|>) \d+\))");
  static const std::regex kChannel(R"(\[receive\] via NET/[^/\s]+/(\d+)(?:\(\d+\))?(/GDRDMA)?)");
  std::istringstream lines(output);
  std::smatch seen;
  for (std::string line; std::getline(lines, line);) {
    const auto differ = [&](const std::string& what) {
      out.push_back(fmt::format("{}; NCCL: {}", what, line));
    };
    if (std::regex_search(line, seen, kDecision)) {
      const auto at = told.find(std::stoi(seen[2], nullptr, 16) & 0xffff);
      if (at == told.end() || at->second.distance.empty()) continue;
      const std::string distance = path_type(std::stoi(seen[3]), nccl);
      if (distance != at->second.distance) differ("distance told: " + at->second.distance);
      if (at->second.too_far != (seen[1] == "Disabled"))
        differ(fmt::format("told as too far: {}", at->second.too_far));
      ++compared;
    } else if (std::regex_search(line, seen, kChannel)) {
      const auto at = told.find(std::stoi(seen[1]));
      if (at == told.end() || at->second.distance.empty()) continue;
      const bool used = seen[2].matched;
      if (used != (at->second.way != "none" && !at->second.too_far))
        differ(fmt::format("way told: {}, too far: {}", at->second.way, at->second.too_far));
      ++compared;
    }
  }
}

}  // namespace

std::vector<std::string> complaints_of_job(const Node& node, const std::string& nccl,
                                           unsigned long* compared) {
  using softcuda::Action;
  const test::TempDir dir;
  softcuda::JobSpec spec;
  spec.nccl = driver::cached_nccl(nccl).value();
  spec.nodes = 2;
  spec.gpus_per_node = 1;
  spec.inherit_nccl_settings = false;
  spec.deadline_sec = 120;
  spec.environment = node.environment;
  spec.environment.insert({{"NCCL_NET_PLUGIN", "diag"},
                           {"NCCL_NET_PLUGIN_REF_COUNT", "1"},  // as the plugin asks for
                           {"NCCL_DEBUG", "INFO"},
                           {"NCCL_DEBUG_SUBSYS", "INIT,NET,GRAPH"},
                           {"NCCL_NET_DIAG_BLACKBOX", "off"},
                           {"NCCL_NET_DIAG_STDERR", "off"}});
  spec.library_path = {NND_PLUGIN_DIR};
  softcuda::put_on_fabric(spec, softverbs::load_scenario(dir.file("scenario.toml", node.toml())),
                          dir.path());
  for (int rank = 0; rank < spec.ranks(); ++rank)
    spec.rank_environment[rank]["NCCL_NET_DIAG_FILE"] =
        (dir.path() / fmt::format("rank{}.jsonl", rank)).string();
  spec.actions = {{.kind = Action::Kind::kCreate},
                  {.kind = Action::Kind::kCollective, .bytes = 100000},
                  {.kind = Action::Kind::kDestroy}};
  const softcuda::JobResult result = softcuda::run_job(spec);
  std::vector<std::string> out;
  unsigned long count = 0;
  if (!result.error.empty()) out.push_back(result.error);
  for (const softcuda::RankResult& rank : result.ranks) {
    if (!rank.done)
      out.push_back(fmt::format("rank {}: {}\n{}", rank.rank, rank.error, rank.output));
    const auto events = test::read_log(dir.path() / fmt::format("rank{}.jsonl", rank.rank));
    for (const json& event : events)
      if (event["sev"] != "info") out.push_back(event.dump());
    if (!node.gpus.empty())
      compare(nccl, rank.output, told_of_devices(events, node.gpus.front().pci), out, count);
  }
  if (compared != nullptr) *compared += count;
  return out;
}

}  // namespace nnd::differential
