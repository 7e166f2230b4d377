// What NCCL and who calls it write when the network fails, and which causes stand behind it.
#pragma once

#include <string_view>
#include <vector>

#include "nccl_net_diag/causes.h"

namespace nnd::cli {

struct Saying {
  std::string_view part;  // of a line, in lower case: what doesn't change from line to line
  std::vector<nccl_net_diag::Cause> causes;  // the likeliest first
};

const std::vector<Saying>& sayings();

}  // namespace nnd::cli
