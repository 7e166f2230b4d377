// nccl-net-diag run and env: a job with the plugin.
#pragma once

#include <string>
#include <vector>

#include "cli/common/answer.h"

namespace nnd::cli {

// Becomes the program, with the variables set. Throws CallError where that can't be done.
Answer run_program(const std::vector<std::string>& program, bool by_name);

// The variables, for a shell or as JSON.
Answer show_environment(const Calling& calling, bool by_name);

}  // namespace nnd::cli
