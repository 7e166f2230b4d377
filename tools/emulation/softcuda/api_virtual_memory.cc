// Virtual memory management (cuMemCreate and what belongs to it): physical memory is a memfd, so
// that ranks can pass it on to each other as they do on a real node.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "api.h"
#include "cuda_abi.h"
#include "memory.h"

namespace softcuda {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

using Handle = unsigned long long;  // CUmemGenericAllocationHandle

struct Physical {
  int fd;
  AllocationProperties properties;
  int holders = 1;  // handles given out, and mappings
};

struct Mapping {
  Handle memory;
  std::size_t bytes;
};

struct State {
  std::mutex mutex;
  Handle last = 0;
  std::map<Handle, Physical> memory;
  std::map<std::uintptr_t, Mapping> mappings;
};

State& state() {
  static auto& instance = *new State;  // outlives every stream thread
  return instance;
}

std::uintptr_t key(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

int keep(int fd, const AllocationProperties& properties, Handle* out) {
  if (fd < 0) return kOutOfMemory;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  *out = ++all.last;
  all.memory.emplace(*out, Physical{fd, properties});
  return kSuccess;
}

int drop(State& all, Handle handle) {
  const auto found = all.memory.find(handle);
  if (found == all.memory.end()) return kInvalidValue;
  if (--found->second.holders > 0) return kSuccess;
  close(found->second.fd);
  all.memory.erase(found);
  return kSuccess;
}

// 2.30 asks for it, and calls it unchecked, even where the device has no virtual memory management.
int get_granularity(std::size_t* bytes, const AllocationProperties* /*of*/, int /*option*/) {
  *bytes = kGranularity;
  return kSuccess;
}

int create(Handle* out, std::size_t bytes, const AllocationProperties* properties,
           unsigned long long /*flags*/) {
  const int fd = memfd_create("softcuda", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    close(fd);
    return kOutOfMemory;
  }
  return keep(fd, *properties, out);
}

int release_handle(Handle handle) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  return drop(all, handle);
}

int get_allocation_properties(AllocationProperties* out, Handle handle) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const auto found = all.memory.find(handle);
  if (found == all.memory.end()) return kInvalidValue;
  *out = found->second.properties;
  return kSuccess;
}

int export_handle(int* fd, Handle handle, int /*type*/, unsigned long long /*flags*/) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const auto found = all.memory.find(handle);
  if (found == all.memory.end()) return kInvalidValue;
  *fd = dup(found->second.fd);
  return *fd < 0 ? kOutOfMemory : kSuccess;
}

// The descriptor is the pointer's value.
int import_handle(Handle* out, void* fd, int /*type*/) {
  return keep(dup(static_cast<int>(key(fd))), {}, out);
}

int reserve(void** out, std::size_t bytes, std::size_t alignment, void* /*wanted*/,
            unsigned long long /*flags*/) {
  if (alignment < kGranularity) alignment = kGranularity;
  void* const more = mmap(nullptr, bytes + alignment, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (more == MAP_FAILED) return kOutOfMemory;
  const std::size_t before = (alignment - key(more) % alignment) % alignment;
  char* const base = static_cast<char*>(more) + before;
  if (before != 0) munmap(more, before);
  if (before != alignment) munmap(base + bytes, alignment - before);
  *out = base;
  return kSuccess;
}

int free_range(void* base, std::size_t bytes) {
  return munmap(base, bytes) == 0 ? kSuccess : kInvalidValue;
}

int map(void* at, std::size_t bytes, std::size_t offset, Handle handle,
        unsigned long long /*flags*/) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const auto found = all.memory.find(handle);
  if (found == all.memory.end()) return kInvalidValue;
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, found->second.fd,
           static_cast<off_t>(offset)) == MAP_FAILED)
    return kOutOfMemory;
  ++found->second.holders;
  all.mappings[key(at)] = {handle, bytes};
  return register_memory(at, bytes, MemoryKind::kMapped);
}

// All mappings in the range, whose addresses stay reserved.
int unmap(void* at, std::size_t bytes) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const auto first = all.mappings.lower_bound(key(at));
  const auto end = all.mappings.lower_bound(key(at) + bytes);
  if (first == end) return kInvalidValue;
  for (auto each = first; each != end; ++each) {
    char* const base = static_cast<char*>(at) + (each->first - key(at));
    release(base);
    mmap(base, each->second.bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    drop(all, each->second.memory);
  }
  all.mappings.erase(first, end);
  return kSuccess;
}

int retain_handle(Handle* out, void* address) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  auto after = all.mappings.upper_bound(key(address));
  if (after == all.mappings.begin()) return kInvalidValue;
  --after;
  if (key(address) >= after->first + after->second.bytes) return kInvalidValue;
  *out = after->second.memory;
  ++all.memory.at(*out).holders;
  return kSuccess;
}

int set_access(void* /*at*/, std::size_t /*bytes*/, const void* /*to*/, std::size_t /*count*/) {
  return kSuccess;
}

}  // namespace

std::vector<ApiEntry> virtual_memory_api() {
  return {
      api_entry("cuMemGetAllocationGranularity", get_granularity),
      api_entry("cuMemCreate", create),
      api_entry("cuMemRelease", release_handle),
      api_entry("cuMemGetAllocationPropertiesFromHandle", get_allocation_properties),
      api_entry("cuMemExportToShareableHandle", export_handle),
      api_entry("cuMemImportFromShareableHandle", import_handle),
      api_entry("cuMemAddressReserve", reserve),
      api_entry("cuMemAddressFree", free_range),
      api_entry("cuMemMap", map),
      api_entry("cuMemUnmap", unmap),
      api_entry("cuMemRetainAllocationHandle", retain_handle),
      api_entry("cuMemSetAccess", set_access),
  };
}

}  // namespace softcuda
