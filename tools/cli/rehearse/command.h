// nccl-net-diag rehearse: a real NCCL job over this machine's own HCAs without taking a GPU.
#pragma once

#include <string>

#include "cli/common/answer.h"
#include "cli/rehearse/plan.h"

namespace nnd::cli {

struct RehearseOptions {
  RehearsePlan plan;
  std::string scenario, root, token_file, logs;
  bool nodes_given = false;
};

// Throws CallError.
Answer rehearse(RehearseOptions& options, const Calling& calling);

}  // namespace nnd::cli
