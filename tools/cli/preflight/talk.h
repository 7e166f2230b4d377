// From which HCAs talk to which: whose fault it is where they don't. Pure functions.
#pragma once

#include <vector>

#include "cli/preflight/allocation.h"

namespace nnd::cli {

// An HCA that reaches none of those that were tried, though these reach others, is at fault; else
// both ends are named.
std::vector<Finding> silent_hcas(const std::vector<PairResult>& pairs);

}  // namespace nnd::cli
