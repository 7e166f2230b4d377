#include "job/fabric.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "softcuda/fabric_job.h"
#include "softverbs/scenario.h"
#include "support/catch.h"
#include "support/event_log.h"

namespace nnd::test {

namespace {

const char* scenario_for(int gpus_per_node, int nodes) {
  if (nodes > 2) return "eight-big-nodes.toml";
  return gpus_per_node > 2 ? "two-big-nodes.toml" : "two-nodes.toml";
}

std::filesystem::path scenario_file(const std::string& text_or_file, int gpus_per_node, int nodes,
                                    const TempDir& dir) {
  if (text_or_file.find('\n') != std::string::npos) return dir.file("scenario.toml", text_or_file);
  return std::filesystem::path(NND_TEST_SCENARIOS) /
         (text_or_file.empty() ? scenario_for(gpus_per_node, nodes) : text_or_file);
}

}  // namespace

FabricJob::FabricJob(int gpus_per_node, int nodes, const std::string& scenario) {
  spec.nccl = nccl_library();
  spec.nodes = nodes;
  spec.gpus_per_node = gpus_per_node;
  spec.inherit_nccl_settings = false;
  spec.deadline_sec = kDeadlineSec;
  spec.grace_sec = 3;
  spec.environment = {{"NCCL_NET_PLUGIN", "diag"},
                      {"NCCL_DEBUG", "INFO"},
                      {"NCCL_NET_PLUGIN_REF_COUNT", "1"},
                      {"NCCL_NET_DIAG_BLACKBOX", "off"},
                      {"NCCL_NET_DIAG_EVENTS", test::kEveryStep}};
  spec.library_path = {NND_PLUGIN_DIR};
  const auto file = scenario_file(scenario, gpus_per_node, nodes, directory_);
  softcuda::put_on_fabric(spec, softverbs::load_scenario(file), directory_.path());
  for (int rank = 0; rank < spec.ranks(); ++rank) {
    auto& own = spec.rank_environment[rank];
    own["NCCL_NET_DIAG_FILE"] = (dir() / ("rank" + std::to_string(rank) + ".jsonl")).string();
    own["RANK"] = std::to_string(rank);
    own["WORLD_SIZE"] = std::to_string(spec.ranks());
  }
}

softcuda::JobResult FabricJob::run(const softcuda::JobStop& stop,
                                   const softcuda::JobProgress& progress) {
  auto result = softcuda::run_job(spec, progress, stop);
  for (const auto& segment : result.segments) CHECK_FALSE(std::filesystem::exists(segment));
  return result;
}

std::vector<nlohmann::json> FabricJob::events(int rank) const {
  std::vector<nlohmann::json> found;
  std::ifstream log(dir() / ("rank" + std::to_string(rank) + ".jsonl"));
  for (std::string line; std::getline(log, line) && !log.eof();)
    found.push_back(nlohmann::json::parse(line));
  return found;
}

std::vector<nlohmann::json> FabricJob::events(int rank, const std::string& name) const {
  std::vector<nlohmann::json> found;
  for (auto& event : events(rank))
    if (event.at("ev") == name) found.push_back(std::move(event));
  return found;
}

void FabricJob::check_carried() const {
  for (int rank = 0; rank < spec.ranks(); ++rank) {
    INFO("rank " << rank);
    CHECK_FALSE(events(rank, "plugin.load").empty());
    CHECK_FALSE(events(rank, "hca.port").empty());
    CHECK_FALSE(events(rank, "conn.ready").empty());
    CHECK_FALSE(events(rank, "qp.transition").empty());
  }
}

void FabricJob::strip_nccl() {
  const std::string copy = (dir() / "libnccl.so.2").string();
  REQUIRE(std::system(("strip -o '" + copy + "' '" + spec.nccl + "'").c_str()) == 0);
  spec.nccl_symbols = spec.nccl;  // softcuda's need; the plugin has the stripped one only
  spec.nccl = copy;
}

}  // namespace nnd::test
