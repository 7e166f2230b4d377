// Memory of another process's GPU (cudaIpc...). A handle names the owner's file, which every
// process of the same user can open.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "api.h"
#include "cuda_abi.h"
#include "memory.h"

namespace softcuda {
namespace {

struct Owner {
  pid_t process;
  int file;
  off_t offset;
  std::size_t bytes;
};

union IpcHandle {  // cudaIpcMemHandle_t
  char reserved[64];
  Owner owner;
};

struct Opened {
  std::mutex mutex;
  std::map<void*, std::size_t> bytes_at;
};

Opened& opened() {
  static auto& instance = *new Opened;  // outlives every stream thread
  return instance;
}

int get_handle(IpcHandle* out, void* memory) {
  const auto allocation = find_allocation(memory);
  if (!allocation || allocation->offset < 0) return kInvalidValue;
  std::memset(out, 0, sizeof *out);
  out->owner = {getpid(), shared_memory_file(), allocation->offset, allocation->bytes};
  return kSuccess;
}

int open_handle(void** out, IpcHandle handle, unsigned /*flags*/) {
  const Owner& owner = handle.owner;
  const auto path = fmt::format("/proc/{}/fd/{}", owner.process, owner.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return kInvalidHandle;
  void* base = mmap(nullptr, owner.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, owner.offset);
  close(file);
  if (base == MAP_FAILED) return kOutOfMemory;
  register_memory(base, owner.bytes, MemoryKind::kMapped);
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  all.bytes_at[base] = owner.bytes;
  *out = base;
  return kSuccess;
}

int close_handle(void* base) {
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  const auto found = all.bytes_at.find(base);
  if (found == all.bytes_at.end()) return kInvalidValue;
  release(base);
  munmap(base, found->second);
  all.bytes_at.erase(found);
  return kSuccess;
}

}  // namespace

std::vector<ApiEntry> peer_memory_api() {
  return {
      api_entry("cudaIpcGetMemHandle", get_handle),
      api_entry("cudaIpcOpenMemHandle", open_handle),
      api_entry("cudaIpcCloseMemHandle", close_handle),
  };
}

}  // namespace softcuda
