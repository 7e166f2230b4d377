#include "session/launch.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace nnd::session {

namespace {

struct Names {
  const char* launcher;
  const char* rank;
  const char* local_rank;
  const char* world_size;
};

constexpr std::array kNames = {
    Names{"torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE"},
    Names{"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    Names{"slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
    Names{"pmi", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
};

constexpr std::array kJobNames = {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID", "LSB_JOBID",
                                  "JOB_ID"};

std::optional<int> number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc() || at != end || at == text) return std::nullopt;
  return value;
}

}  // namespace

Launch read_launch() {
  Launch launch;
  for (const Names& names : kNames) {
    launch.rank = number(names.rank);
    if (!launch.rank) continue;
    launch.launcher = names.launcher;
    launch.local_rank = number(names.local_rank);
    launch.world_size = number(names.world_size);
    break;
  }
  for (const char* name : kJobNames) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    launch.job = value;
    break;
  }
  return launch;
}

}  // namespace nnd::session
