// The job that `demo` shows: real ranks over a real libnccl on the emulated fabric.
#pragma once

#include <filesystem>
#include <string>

namespace nnd::cli {

struct DemoJob {
  std::string nccl;                // libnccl's file, or a name for the loader
  std::filesystem::path scenario;  // TOML
  int ranks = 2;
  std::filesystem::path log_dir;  // exists; one log per rank is written into it
};

// Opens one connection per direction, channel and HCA around the ring of ranks and moves verified
// data over each. Throws driver::Error or softverbs::ScenarioError.
void run_demo_job(const DemoJob& demo);

}  // namespace nnd::cli
