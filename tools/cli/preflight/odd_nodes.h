// What a node has that the others haven't, as findings. Pure functions.
#pragma once

#include <vector>

#include "cli/preflight/allocation.h"

namespace nnd::cli {

// What tells most comes first; what follows from it is left out.
std::vector<Finding> odd_nodes(const std::vector<Node>& nodes);

}  // namespace nnd::cli
