// What softcuda needs NCCL to be told. To be set in a rank's own process before libnccl is loaded.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace softcuda {

// NCCL_PAT_ENABLE=0: from 2.23 NCCL takes PAT kernels for small all-gathers and reduce-scatters of
// one GPU per node, which softcuda would refuse. All else that isn't played needs what NCCL doesn't
// find here: NVLS multicast, CollNet a plugin with SHARP, symmetric kernels registered windows.
// Whether several GPUs of a node talk through shared memory is the caller's choice
// (NCCL_SHM_DISABLE).
std::vector<std::pair<std::string, std::string>> required_environment();

}  // namespace softcuda
