// Where a host's GPUs are, without touching one.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "gpu.h"

namespace softcuda {

// NVIDIA's display and 3D controllers of a sysfs, in the order of their addresses. Empty where
// there are none.
std::vector<PciAddress> gpus_of_sysfs(const std::filesystem::path& sysfs = "/sys");

// Those of an NCCL topology file's text (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE), in its order.
std::vector<PciAddress> gpus_of_topology(std::string_view text);

}  // namespace softcuda
