// Where a host's GPUs are, without touching one.
#pragma once

#include <filesystem>
#include <vector>

#include "gpu.h"

namespace softcuda {

// NVIDIA's display and 3D controllers of a sysfs, in the order of their addresses. Empty where
// there are none.
std::vector<PciAddress> gpus_of_sysfs(const std::filesystem::path& sysfs = "/sys");

// Those of an NCCL topology file (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE), in its order. Throws
// std::runtime_error when the file can't be read or names none.
std::vector<PciAddress> gpus_of_topology(const std::filesystem::path& file);

}  // namespace softcuda
