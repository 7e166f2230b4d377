// Kernel launches. Those of NCCL's are played; who plays others says so here, or they are refused.
#pragma once

#include "cuda_abi.h"

namespace softcuda {

// host_stub: what the program launched; the rest as cudaLaunchKernel has it, and its result.
using OtherLaunch = int(const void* host_stub, Dim3 grid, void* stream, void** parameters);

// Thread-safe; from the next launch on.
void launch_others_with(OtherLaunch* launch);

}  // namespace softcuda
