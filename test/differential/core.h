// A real job on a node without a fault: what NCCL's core decides there, against what the plugin
// tells of it.
#pragma once

#include <string>
#include <vector>

#include "differential/node.h"

namespace nnd::differential {

// Two ranks with a GPU each, each on a host of its own: an all-reduce in softcuda. Every warning
// and error event, what did not work, and where NCCL's distance between GPU and HCA or its use of
// GPUDirect RDMA isn't the one that the plugin tells.
// compared: counts NCCL's decisions that were; may be null.
std::vector<std::string> complaints_of_job(const Node& node, const std::string& nccl,
                                           unsigned long* compared = nullptr);

}  // namespace nnd::differential
