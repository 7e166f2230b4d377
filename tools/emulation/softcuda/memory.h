// Device and pinned memory: both are host memory, told apart by a registry.
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "cuda_abi.h"

namespace softcuda {

enum class MemoryKind {
  kDevice,
  kPinned,
  kRegistered,  // the caller's own (cudaHostRegister)
  kMapped,      // device memory that was mapped by cuMemMap
};

struct Allocation {
  void* base;
  std::size_t bytes;
  MemoryKind kind;
  int gpu;                 // current device when it was made
  bool untouched = false;  // as allocate() made it, as far as we know
  off_t offset = -1;       // in the file that other processes can map (shared_memory_file), or -1
};

// Where the GPUs reach each other's memory, device memory is a file of this process without a name;
// -1 where they don't.
int shared_memory_file();

// Zeroed, page-aligned memory. kOutOfMemory when the system has none.
Error allocate(void** out, std::size_t bytes, MemoryKind kind);
// Null is fine; kInvalidValue for what was never allocated.
Error release(void* base);
// Zeroes a stretch. Where that is all of an allocation for the first time, as NCCL does with each
// of its buffers, no page is touched: most of them never are.
void zero(void* to, std::size_t bytes);
// What was not made by allocate() is known to CUDA from now on, until it is released.
Error register_memory(void* base, std::size_t bytes, MemoryKind kind);
// How much device memory a GPU has given out.
std::size_t device_bytes(int gpu);
// The allocation that an address lies in.
std::optional<Allocation> find_allocation(const void* address);

}  // namespace softcuda
