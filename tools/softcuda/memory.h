// Device and pinned memory: both are host memory of this process, told apart by a registry.
// Thread-safe.
#pragma once

#include <cstddef>
#include <optional>

#include "cuda_abi.h"

namespace softcuda {

enum class MemoryKind { kDevice, kPinned, kRegistered };

struct Allocation {
  void* base;
  std::size_t bytes;
  MemoryKind kind;
  int gpu;  // current device when it was made
};

// Zeroed, page-aligned memory. kOutOfMemory when the system has none.
Error allocate(void** out, std::size_t bytes, MemoryKind kind);
// Null is fine; kInvalidValue for what was never allocated.
Error release(void* base);
// The caller's own memory, known to CUDA from now on (cudaHostRegister).
Error register_host(void* base, std::size_t bytes);
// The allocation that an address lies in.
std::optional<Allocation> find_allocation(const void* address);

}  // namespace softcuda
