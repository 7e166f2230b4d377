// NCCL's own topology search on the scenario's sysfs: each GPU's traffic uses the HCA beside it.
#include <nlohmann/json.hpp>
#include <set>

#include "job/jobs.h"
#include "softcuda/fabric_job.h"
#include "support/catch.h"
#include "support/event_log.h"
#include "support/temp_dir.h"

using namespace softcuda;
using nlohmann::json;
using nnd::test::failures;
using nnd::test::nccl_library;
using nnd::test::TempDir;
using Kind = Action::Kind;

namespace {

JobSpec shim_job(const TempDir& dir, const char* scenario, int nodes, int gpus) {
  JobSpec spec;
  spec.nccl = nccl_library();
  spec.nodes = nodes;
  spec.gpus_per_node = gpus;
  spec.inherit_nccl_settings = false;
  spec.environment = {{"NCCL_NET_PLUGIN", "diag"},
                      {"NCCL_NET_PLUGIN_REF_COUNT", "1"},
                      {"NCCL_NET_DIAG_BLACKBOX", "off"}};
  spec.library_path = {NND_PLUGIN_DIR};
  put_on_fabric(spec, softverbs::load_scenario(scenario), dir.path());
  for (int rank = 0; rank < spec.ranks(); ++rank)
    spec.rank_environment[rank]["NCCL_NET_DIAG_FILE"] =
        (dir.path() / ("rank" + std::to_string(rank) + ".jsonl")).string();
  return spec;
}

std::vector<json> closed(const TempDir& dir, int rank) {
  std::vector<json> found;
  for (auto& event : nnd::test::read_log(dir.path() / ("rank" + std::to_string(rank) + ".jsonl")))
    if (event.at("ev") == "conn.close") found.push_back(std::move(event));
  return found;
}

}  // namespace

// As a data-parallel group has it: one rank a node, always the same GPU.
TEST_CASE("in groups of the same GPU of both nodes, each GPU has an HCA to itself", "[affinity]") {
  const TempDir dir;
  constexpr int kGpus = 8;
  JobSpec spec = shim_job(dir, NND_SCENARIOS "/two-nodes-8-hca-bond.toml", 2, kGpus);
  spec.deadline_sec = 500;
  spec.actions = {{.kind = Kind::kCreate, .comm = 0},
                  {.kind = Kind::kSplit, .comm = 0, .made = 1, .parts = kGpus},
                  {.kind = Kind::kCollective, .comm = 1, .bytes = 400000, .iterations = 2},
                  {.kind = Kind::kDestroy, .comm = 1},
                  {.kind = Kind::kDestroy, .comm = 0}};
  REQUIRE(failures(run_job(spec)) == "");
  for (int rank = 0; rank < spec.ranks(); ++rank) {
    INFO("rank " << rank);
    const int gpu = rank % kGpus;
    std::set<std::string> used, directions;
    for (const auto& event : closed(dir, rank)) {
      if (event.at("bytes") == 0) continue;
      used.insert(event.at("dev").at("name"));
      directions.insert(event.at("dir"));
    }
    REQUIRE(used.size() == 1);
    CHECK(directions == std::set<std::string>{"recv", "send"});
    CHECK(*used.begin() == "mlx5_" + std::to_string(gpu));  // the one on the GPU's own PCI switch
  }
}
