// What is not the same everywhere: versions, settings, HCAs. Most have one value, and few differ.
#pragma once

#include <string>
#include <vector>

#include "report/picture.h"

namespace nnd::report {

// Deviation::what of how many GPUs a node has, where nodes tell it (facts "gpus").
inline constexpr const char* kGpuCount = "GPU count";

struct Deviation {
  std::string what;   // "NCCL", "NCCL_IB_HCA", "GID index of mlx5_3"
  std::string usual;  // of most; empty: there is no majority
  std::size_t usual_count = 0;
  struct Differing {
    std::string value;
    std::vector<std::string> who;  // hosts, or processes as "host pid PID"
    std::vector<std::size_t> members;
  };
  std::vector<Differing> others;  // with no majority: all values
  bool serious = false;           // it is known to break jobs
};

// Those that break jobs first; what is the same of several HCAs is one, "state of mlx5_0 and 3
// more".
std::vector<Deviation> deviations(const Picture& picture);
// The same, each HCA by itself, and with the subnets of nodes that have subnets of their own.
std::vector<Deviation> deviations_of_each(const Picture& picture);

}  // namespace nnd::report
