// NCCL_IB_HCA as it was meant, where its signs are in the wrong place or its names match too much.
#pragma once

#include <string>
#include <vector>

#include "facts/node.h"

namespace nnd::policy {

// "NCCL_IB_HCA==mlx5_0,mlx5_1": the settings that say it to NCCL. First the one that names what to
// use, then the one that names what to leave out; none where the list does not tell what was meant.
std::vector<std::string> meant_hca_lists(const facts::Node& node);

}  // namespace nnd::policy
