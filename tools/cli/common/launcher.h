// What torchrun, mpirun and srun tell a task about itself.
#pragma once

#include <optional>
#include <string>

#include "config/launchers.h"

namespace nnd::cli {

struct LaunchedTask {
  std::string launcher;  // config::Launch's
  int task = 0;
  int tasks = 1;
  int local_task = 0;              // among those of this host
  std::optional<int> local_tasks;  // how many these are, where the launcher says it
  int node = 0;                    // number of this host in the job, as far as the launcher says
  std::string root;  // host:port where task 0 can listen; empty where the launcher names none
};

// Reads variables with `variable` (the environment's, by name; empty where not set). Empty when
// this process is no task of a job of more than one.
std::optional<LaunchedTask> launched_task(const config::Lookup& variable);

}  // namespace nnd::cli
