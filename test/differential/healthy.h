// A job on a node without a fault: nothing may be said of it.
#pragma once

#include <string>
#include <vector>

#include "differential/node.h"

namespace nnd::differential {

// The same without what a release can't stand by itself (docs/differential.md).
Node without_known_faults(Node node, const std::string& nccl);

// Two ranks through the plugin, each on a host of its own, that connect over every device and move
// data. Every warning and error event, and what did not work.
std::vector<std::string> complaints(const Node& node, const std::string& nccl);

}  // namespace nnd::differential
