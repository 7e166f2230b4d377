// GPUs that have no HCA within NCCL's limit for GPUDirect RDMA, where the node's others have one.
// Internal to this room.
#pragma once

#include <vector>

#include "diagnosis/node.h"
#include "policy/candidates.h"

namespace nnd::policy {

// Each with the first of the HCAs that are nearest to it.
std::vector<diagnosis::FarGpu> far_gpus(const facts::Node& node, const Candidates& all);

}  // namespace nnd::policy
