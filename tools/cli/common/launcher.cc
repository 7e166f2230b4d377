#include "cli/common/launcher.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace nnd::cli {

namespace {

using Lookup = std::function<std::string(const char*)>;

struct Names {
  const char *launcher, *task, *tasks, *local_task, *node, *local_tasks;
  const char* needs;  // a variable without which the others aren't meant for this process
};

// In this order: torchrun's are the most exact, and a step of srun may run mpirun. A batch script
// has SLURM_PROCID too, but is no step.
constexpr std::array kLaunchers{
    Names{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", "LOCAL_WORLD_SIZE", "RANK"},
    Names{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
          "", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK"},
    Names{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "", "MPI_LOCALNRANKS", "PMI_RANK"},
    Names{"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID",
          "SLURM_NTASKS_PER_NODE", "SLURM_STEP_ID"},
};

// None of them is negative, and no job has more tasks.
std::optional<int> number(const std::string& text) {
  constexpr int kMost = 1 << 20;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value >= 0 && value <= kMost ? std::optional(value) : std::nullopt;
}

// torchrun's agent itself listens on MASTER_PORT where it says that its store is to be used.
std::string root_of(const Lookup& variable) {
  const auto address = variable("MASTER_ADDR");
  const auto port = number(variable("MASTER_PORT"));
  if (address.empty() || !port) return "";
  const bool taken = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return address + ":" + std::to_string(*port + (taken ? 1 : 0));
}

}  // namespace

std::optional<LaunchedTask> launched_task(const Lookup& variable) {
  for (const Names& names : kLaunchers) {
    const auto task = number(variable(names.task)), tasks = number(variable(names.tasks));
    if (!task || !tasks || *tasks < 2 || *task >= *tasks || variable(names.needs).empty()) continue;
    const int local = std::max(number(variable(names.local_tasks)).value_or(1), 1);
    return LaunchedTask{names.launcher,
                        *task,
                        *tasks,
                        number(variable(names.local_task)).value_or(0),
                        number(variable(names.node)).value_or(*task / local),
                        root_of(variable)};
  }
  return std::nullopt;
}

}  // namespace nnd::cli
