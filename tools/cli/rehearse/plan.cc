#include "cli/rehearse/plan.h"

#include <fmt/format.h>

#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "cli/common/size.h"
#include "config/nearest.h"
#include "config/text_file.h"
#include "softcuda/gpu_places.h"

namespace nnd::cli {

using softcuda::Action;

namespace {

softcuda::Collective parse_collective(const std::string& name) {
  if (const auto known = softcuda::collective_named(name)) return *known;
  const auto close = config::nearest(
      name, {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "sendrecv"});
  throw CallError(
      kWrongCall, "unknown-collective",
      fmt::format("\"{}\" is none of all_reduce, all_gather, reduce_scatter, broadcast, reduce, "
                  "sendrecv{}",
                  name, close.empty() ? "" : fmt::format("; did you mean {}?", close)),
      name, close);
}

// Places beyond those that the machine has: in a PCI domain where nothing else is.
softcuda::PciAddress place_of_no_gpu(std::size_t number) {
  return {.domain = 0xfff0, .bus = static_cast<unsigned>(number + 1)};
}

std::string topology_text(const std::string& file) {
  constexpr std::size_t kLargest = std::size_t{4} << 20;
  using config::AllowedFileType;  // NCCL opens the file again: no pipe
  auto read = config::read_text_file(file, "topology", kLargest, AllowedFileType::kRegular);
  if (!read.problem.empty())
    throw CallError(kWrongCall, "topology", file + " " + read.problem, file);
  return std::move(read.text);
}

std::vector<softcuda::PciAddress> gpu_places(const RehearsePlan& plan) {
  std::vector<softcuda::PciAddress> places;
  if (plan.topology.empty()) {
    places = softcuda::gpus_of_sysfs();
  } else {
    places = softcuda::gpus_of_topology(topology_text(plan.topology));
    if (places.empty())
      throw CallError(kWrongCall, "topology", plan.topology + " names no GPU", plan.topology);
  }
  while (static_cast<int>(places.size()) < plan.gpus)
    places.push_back(place_of_no_gpu(places.size()));
  return places;
}

}  // namespace

softcuda::JobSpec make_program_job(const RehearsePlan& plan) {
  softcuda::JobSpec spec;
  spec.nodes = plan.nodes;
  spec.gpus_per_node = plan.ranks;
  spec.gpus = gpu_places(plan);
  if (!plan.topology.empty()) {
    spec.environment["NCCL_TOPO_FILE"] = plan.topology;
    // NVLinks of the file stay in NCCL's search though no GPU is there to confirm them; relaying
    // through a neighbour's GPU memory is not played.
    spec.environment["NCCL_IGNORE_DISABLED_P2P"] = "2";
    spec.environment["NCCL_PXN_DISABLE"] = "1";
  }
  spec.environment["NCCL_NET_PLUGIN"] = "diag";
  spec.environment["NCCL_NET_PLUGIN_REF_COUNT"] = "1";
  spec.library_path = {plan.plugin};
  return spec;
}

softcuda::JobSpec make_rehearsal(const RehearsePlan& plan) {
  auto spec = make_program_job(plan);
  spec.nccl = plan.nccl;
  spec.deadline_sec = plan.deadline_sec;
  spec.grace_sec = 3;
  // NCCL repeats a QP's failed move for a minute: a rehearsal knows soon that a pair can't talk.
  if (variable("NCCL_IB_MQP_RETRY_CNT").empty()) spec.environment["NCCL_IB_MQP_RETRY_CNT"] = "4";
  // Where the channels go is read from what NCCL prints; a file of the user's would hide it.
  spec.environment.insert({{"NCCL_DEBUG", "INFO"},
                           {"NCCL_DEBUG_SUBSYS", "INIT,NET,GRAPH,ENV"},
                           {"NCCL_DEBUG_FILE", "/dev/stdout"}});
  // What would keep the shim from telling what the result is made of: an empty one is as good as
  // none.
  for (const char* name : {"NCCL_NET_DIAG_DISABLE", "NCCL_NET_DIAG_EVENTS", "NCCL_NET_DIAG_MAX_MB"})
    spec.environment[name] = "";
  spec.actions.push_back({.kind = Action::Kind::kCreate});
  for (const auto& name : plan.collectives) {
    const auto collective = parse_collective(name);
    for (const auto& size : plan.sizes)
      for (const int iterations : {1, plan.iterations})
        spec.actions.push_back({.kind = Action::Kind::kCollective,
                                .collective = collective,
                                .bytes = parse_size(size),
                                .iterations = iterations});
  }
  spec.actions.push_back({.kind = Action::Kind::kDestroy});
  return spec;
}

}  // namespace nnd::cli
