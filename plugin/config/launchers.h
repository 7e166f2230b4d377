// Who this process is in its job, as the launcher's variables tell it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nnd::config {

// A variable's value by its name; empty where it is not set.
using Lookup = std::function<std::string(const char*)>;
std::string environment(const char* name);

// Values that are no numbers count as missing.
struct Launch {
  std::string launcher;  // whose variables these are: "torchrun", "slurm"; empty: nobody's
  std::optional<int> rank, ranks;
  std::optional<int> local_rank, local_ranks;  // among those of this host
  std::optional<int> node;                     // number of this host in the job
  std::string job;                             // its id
  std::string run;              // of torchrun's jobs inside that; empty: it has no name
  std::optional<int> requeues;  // how often Slurm began the job anew
  std::optional<int> restarts;  // how often torchrun did
};

// Launchers run inside each other, and the inner ones are asked first. One that tells of a single
// process is taken only where no other tells of more: mpirun inside a step of one task, say.
Launch read_launch(const Lookup& variable = environment);

// What launchers may call this job, the scheduler first: of all that do.
std::vector<std::string> job_ids(const Lookup& variable = environment);

}  // namespace nnd::config
