// Who this process is in its job, as the launcher's variables tell it.
#pragma once

#include <optional>
#include <string>

namespace nnd::session {

struct Launch {
  std::string
      launcher;  // whose variables these are: "torchrun", "slurm", "openmpi", "pmi"; or empty
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> world_size;
  std::string job;
};

// Reads the environment: RANK, LOCAL_RANK, WORLD_SIZE (torchrun and most others), then SLURM_*,
// OMPI_COMM_WORLD_*, PMI_*. A value that is no number is taken as missing.
Launch read_launch();

}  // namespace nnd::session
