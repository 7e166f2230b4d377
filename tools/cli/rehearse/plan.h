// What `rehearse` was asked for, and the job that it makes of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "softcuda/job_spec.h"

namespace nnd::cli {

struct RehearsePlan {
  std::string nccl;             // libnccl.so.2
  int nodes = 2;                // that this host plays; under a launcher: its tasks
  int ranks = 1;                // per node or task
  int first_gpu = 0, gpus = 1;  // this process's ranks use places first_gpu, ... of `gpus`
  std::vector<std::string> collectives{"all_reduce"};
  std::vector<std::string> sizes{"4M"};
  int iterations = 20;
  double deadline_sec = 120;
  std::string topology;  // NCCL_TOPO_FILE
  std::string plugin;    // directory of libnccl-net-diag.so
  std::string log_dir;   // where the ranks' event logs go
};

// Create; each collective in each size, once to warm up (NCCL connects lazily) and `iterations`
// times; destroy. Throws CallError for unknown names and sizes and a topology file that can't be
// used.
softcuda::JobSpec make_rehearsal(const RehearsePlan& plan);

// The same places, network and shim for a program of the user's, which brings its own work.
softcuda::JobSpec make_program_job(const RehearsePlan& plan);

}  // namespace nnd::cli
