// NCCL's shared memory between the ranks of a node: files in /dev/shm, which it deletes when both
// ends have them open. Those of a rank that ends earlier would stay.
#pragma once

#include <functional>
#include <string>

namespace softcuda {

// Tells `made` the path of each one that a loaded libnccl makes from now on, on the thread that
// makes it, until the process ends. Empty, or why that could not be done. To be called before NCCL
// is initialised.
std::string tell_of_segments(void* handle, std::function<void(const std::string& path)> made);

}  // namespace softcuda
