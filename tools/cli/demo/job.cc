#include "cli/demo/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "cli/common/job_failures.h"
#include "cli/common/parts.h"
#include "cli/common/scratch_dir.h"
#include "softcuda/fabric_job.h"

namespace nnd::cli {

namespace {

using softcuda::Action;
using softcuda::Collective;

// As many nodes as the fabric has hosts and the ranks can be shared among evenly. One node of
// several would use no network.
int nodes_for(int ranks, int hosts) {
  int nodes = std::min(ranks, hosts);
  while (ranks % nodes != 0) --nodes;
  if (nodes == 1 && hosts > 1)
    throw CallError(kWrongCall, "ranks",
                    fmt::format("{} ranks can't be shared evenly among the {} hosts of the "
                                "scenario; {} can",
                                ranks, hosts, (ranks / hosts + 1) * hosts),
                    std::to_string(ranks));
  return nodes;
}

// 4 MiB, gathered and scattered as all-reduced: a share of it per rank.
std::vector<Action> actions(int ranks) {
  constexpr std::size_t kBytes = std::size_t{4} << 20, kGrain = 4096;
  const std::size_t share = kBytes / static_cast<std::size_t>(ranks) / kGrain * kGrain;
  return {
      {.kind = Action::Kind::kCreate},
      {.kind = Action::Kind::kCollective, .bytes = kBytes, .iterations = 4},
      {.kind = Action::Kind::kCollective, .collective = Collective::kAllGather, .bytes = share},
      {.kind = Action::Kind::kCollective, .collective = Collective::kReduceScatter, .bytes = share},
      {.kind = Action::Kind::kDestroy}};
}

std::string log_name(int rank, const char* ending) {
  return "rank" + std::to_string(rank) + ending;
}

softcuda::JobSpec job_spec(const DemoJob& demo, std::size_t hosts) {
  softcuda::JobSpec spec;
  spec.nccl = demo.nccl;
  spec.nodes = nodes_for(demo.ranks, static_cast<int>(hosts));
  spec.gpus_per_node = demo.ranks / spec.nodes;
  spec.actions = actions(demo.ranks);
  spec.deadline_sec = demo_deadline(demo);
  spec.grace_sec = 3;
  spec.inherit_nccl_settings = false;
  spec.environment = {{"NCCL_NET_PLUGIN", "diag"},
                      {"NCCL_NET_PLUGIN_REF_COUNT", "1"},
                      {"NCCL_NET_DIAG_MODE", demo.mode},
                      {"NCCL_DEBUG", "INFO"},
                      {"WORLD_SIZE", std::to_string(demo.ranks)}};
  if (demo.mode == "off") {
    spec.environment["NCCL_NET_PLUGIN"] = "none";
    spec.environment.erase("NCCL_NET_DIAG_MODE");
  }
  if (spec.nodes == 1) {  // all over the network
    spec.environment["NCCL_SHM_DISABLE"] = "1";
    spec.environment["NCCL_P2P_DISABLE"] = "1";
  }
  spec.library_path = {plugin_file().parent_path().string()};
  for (int rank = 0; rank < demo.ranks; ++rank)
    spec.rank_environment[rank] = {
        {"NCCL_NET_DIAG_FILE", pattern_of(demo.log_dir / log_name(rank, ".jsonl"))},
        {"RANK", std::to_string(rank)},
        {"LOCAL_RANK", std::to_string(rank % spec.gpus_per_node)}};
  return spec;
}

}  // namespace

double demo_deadline(const DemoJob& demo) { return 150 + 4 * demo.ranks; }

std::vector<std::string> run_demo_job(const DemoJob& demo, const softcuda::JobProgress& progress,
                                      const softcuda::JobStop& stop) {
  const ScratchDir hosts("hosts", ScratchDir::Content::kManySmallFiles);
  auto spec = job_spec(demo, demo.scenario.hosts.size());
  try {
    softcuda::put_on_fabric(spec, demo.scenario, hosts.path());
  } catch (const softverbs::ScenarioError& error) {
    throw CallError(kWrongCall, "scenario", error.what(), demo.scenario.file.string());
  }
  const auto result = softcuda::run_job(spec, progress, stop);
  for (const auto& rank : result.ranks)
    std::ofstream(demo.log_dir / log_name(rank.rank, ".out")) << rank.output;
  return failures_of(result, spec.deadline_sec);
}

}  // namespace nnd::cli
