#include "config/launchers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace nnd::config {

namespace {

struct Names {
  const char *launcher, *rank, *ranks, *local_rank, *local_ranks, *node;  // empty: it tells none
  const char* needs;  // a variable without which the others aren't meant for this process
};

// The inner ones first. srun and mpirun start torchrun, a step of srun may run mpirun, and Slurm
// tells a batch script a rank too, which is no step.
constexpr std::array kLaunchers{
    Names{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "RANK"},
    Names{"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
          "OMPI_COMM_WORLD_LOCAL_SIZE", "", "OMPI_COMM_WORLD_RANK"},
    Names{"mvapich", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
          "MV2_COMM_WORLD_LOCAL_SIZE", "", "MV2_COMM_WORLD_RANK"},
    Names{"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "PMI_RANK"},
    Names{"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
          "JSM_NAMESPACE_LOCAL_SIZE", "", "JSM_NAMESPACE_RANK"},
    Names{"flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "", "",
          "FLUX_TASK_RANK"},
    Names{"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE",
          "SLURM_NODEID", "SLURM_STEP_ID"},
    Names{"pmix", "PMIX_RANK", "", "", "", "", "PMIX_RANK"},
};

constexpr std::array kJobIds{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID"};

// torchrun's, where nobody gave it one.
constexpr std::string_view kNoRun = "none";

// None of them is negative, and no job has more processes.
std::optional<int> number(const std::string& text) {
  constexpr int kMost = 1 << 20;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value >= 0 && value <= kMost ? std::optional(value) : std::nullopt;
}

std::optional<int> number(const Lookup& variable, const char* name) {
  return *name == '\0' ? std::nullopt : number(variable(name));
}

// How much of it is told: 0 nothing that fits together, 1 a rank, 2 and the only one, 3 one of
// several.
int weight(const Launch& launch) {
  if (!launch.rank) return 0;
  if (!launch.ranks) return 1;
  if (*launch.rank >= *launch.ranks) return 0;
  return *launch.ranks > 1 ? 3 : 2;
}

// Of Slurm's list of tasks by node, "2(x3),1", where `node` is the number of one in the job.
std::optional<int> tasks_on(int node, std::string_view list) {
  while (!list.empty()) {
    const auto one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    const auto bracket = one.find("(x");
    const auto tasks = number(std::string(one.substr(0, bracket)));
    const auto nodes = bracket == std::string_view::npos
                           ? std::optional(1)
                           : number(std::string(one.substr(bracket + 2, one.size() - bracket - 3)));
    if (!tasks || !nodes) return std::nullopt;
    if (node < *nodes) return tasks;
    node -= *nodes;
  }
  return std::nullopt;
}

Launch by_names(const Lookup& variable, const Names& names) {
  Launch out;
  if (variable(names.needs).empty()) return out;
  out.launcher = names.launcher;
  out.rank = number(variable, names.rank);
  out.ranks = number(variable, names.ranks);
  out.local_rank = number(variable, names.local_rank);
  out.local_ranks = number(variable, names.local_ranks);
  out.node = number(variable, names.node);
  if (out.launcher == "slurm" && out.node)  // what it was asked for is not always what it does
    if (const auto own = tasks_on(*out.node, variable("SLURM_STEP_TASKS_PER_NODE")))
      out.local_ranks = own;
  return out;
}

std::string run_id(const Lookup& variable) {
  auto run = variable("TORCHELASTIC_RUN_ID");
  return run == kNoRun ? std::string() : run;
}

}  // namespace

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Launch read_launch(const Lookup& variable) {
  Launch out;
  for (const Names& names : kLaunchers)
    if (auto one = by_names(variable, names); weight(one) > weight(out)) out = std::move(one);
  if (const auto jobs = job_ids(variable); !jobs.empty()) out.job = jobs.front();
  out.run = run_id(variable);
  out.requeues = number(variable, "SLURM_RESTART_COUNT");
  out.restarts = number(variable, "TORCHELASTIC_RESTART_COUNT");
  return out;
}

std::vector<std::string> job_ids(const Lookup& variable) {
  std::vector<std::string> out;
  for (const char* const name : kJobIds)
    if (auto id = variable(name); !id.empty()) out.push_back(std::move(id));
  if (auto run = run_id(variable); !run.empty()) out.push_back(std::move(run));
  return out;
}

}  // namespace nnd::config
