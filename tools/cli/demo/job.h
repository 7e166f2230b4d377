// The job that `demo` shows: a real NCCL job on the emulated fabric.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "softcuda/job.h"
#include "softverbs/scenario.h"

namespace nnd::cli {

struct DemoJob {
  std::string nccl;  // libnccl's file, or a name for the loader
  softverbs::Scenario scenario;
  int ranks = 2;
  std::string mode = "warn";  // NCCL_NET_DIAG_MODE, or "off": NCCL alone, without the shim
  // Exists. Each rank's event log (rank0.jsonl) and what it printed (rank0.out) are written here.
  std::filesystem::path log_dir;
};

double demo_deadline(const DemoJob& demo);  // seconds; then the ranks are ended

// ncclCommInitRank, all-reduce, all-gather and reduce-scatter with the shim on GPUs that softcuda
// plays; all data is verified. Gives what went wrong. `stop` is asked several times a second; true
// ends the job. Throws CallError where the fabric is too small.
std::vector<std::string> run_demo_job(const DemoJob& demo, const softcuda::JobProgress& progress,
                                      const softcuda::JobStop& stop);

}  // namespace nnd::cli
