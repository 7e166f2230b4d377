// `nccl-net-diag top`: what this node's NCCL processes do over the network now.
#pragma once

#include <vector>

#include "cli/common/answer.h"

namespace nnd::cli {

struct TopOptions {
  std::vector<int> pids;  // empty: all that can be looked into
  double interval_sec = 1;
  int count = 0;  // pages; 0: on a terminal until Ctrl-C, else one
};

Answer top(const TopOptions& options, const Calling& calling);

}  // namespace nnd::cli
