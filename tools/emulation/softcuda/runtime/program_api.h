// What a program asks the CUDA runtime for and libnccl doesn't: its own kernels, errors that are
// kept, whole device properties, streams' priorities, memory pools.
#pragma once

#include <string_view>
#include <vector>

#include "softcuda/api.h"

namespace softcuda {

std::vector<ApiEntry> program_api();               // the same for all releases
std::vector<ApiEntry> property_api(long release);  // what is laid out otherwise in each

// Of this release of the runtime, or of the driver (0). Null when it isn't played.
const void* find_program_api(std::string_view name, long release);

// What cudaGetLastError gives next on this thread.
int keep_error(int error);

}  // namespace softcuda
