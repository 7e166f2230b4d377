// What softcuda needs NCCL to be told. To be set in a rank's own process before libnccl is loaded.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace softcuda {

// NCCL_PROTO=Simple, NCCL_ALGO=Ring, NCCL_P2P_LL_THRESHOLD=0: the kernels that are played.
// Whether several GPUs of a node talk through shared memory is the caller's choice
// (NCCL_SHM_DISABLE); peer-to-peer access is not there, NCCL finds that out itself. Without these
// settings NCCL chooses kernels that softcuda refuses with an error.
std::vector<std::pair<std::string, std::string>> required_environment();

}  // namespace softcuda
