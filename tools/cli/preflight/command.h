// nccl-net-diag preflight: whether a job should start on these nodes.
#pragma once

#include <string>
#include <vector>

#include "cli/common/answer.h"

namespace nnd::cli {

struct PreflightOptions {
  std::vector<std::string> from;  // files, directories; none: the nodes are asked
  std::string hosts;              // file; they are reached by ssh
  std::string root, token_file, nccl, scenario, html;
  std::string command;                  // as it was called
  double arrival = 60, deadline = 600;  // seconds
};

// Throws CallError.
Answer preflight(PreflightOptions& options, const Calling& calling);

}  // namespace nnd::cli
