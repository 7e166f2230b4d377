// nccl-net-diag rehearse: a real NCCL job over this machine's own HCAs without taking a GPU.
#pragma once

#include <string>
#include <vector>

#include "cli/common/answer.h"
#include "cli/rehearse/plan.h"

namespace nnd::cli {

struct RehearseOptions {
  RehearsePlan plan;
  std::string scenario, root, token_file, logs;
  bool nodes_given = false, deadline_given = false;
  // In the place of rehearse's own job; empty: none.
  std::vector<std::string> program;
};

// Throws CallError.
Answer rehearse(RehearseOptions& options, const Calling& calling);

}  // namespace nnd::cli
