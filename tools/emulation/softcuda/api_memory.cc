// Memory: allocation, copies, pointers.
#include <cstring>
#include <memory>
#include <vector>

#include "api.h"
#include "cuda_abi.h"
#include "gpu.h"
#include "memory.h"
#include "stream.h"

namespace softcuda {
namespace {

int malloc_device(void** out, std::size_t bytes) {
  return allocate(out, bytes, MemoryKind::kDevice);
}
int malloc_async(void** out, std::size_t bytes, void* /*stream*/) {
  return allocate(out, bytes, MemoryKind::kDevice);
}
int malloc_from_pool(void** out, std::size_t bytes, void* /*pool*/, void* /*stream*/) {
  return allocate(out, bytes, MemoryKind::kDevice);
}
int free_device(void* memory) {
  synchronize_all();  // as cudaFree does
  return release(memory);
}
int free_async(void* memory, void* stream) {
  return enqueue(stream, [memory] { release(memory); });
}
int malloc_host(void** out, std::size_t bytes) { return allocate(out, bytes, MemoryKind::kPinned); }
int host_alloc(void** out, std::size_t bytes, unsigned /*flags*/) {
  return allocate(out, bytes, MemoryKind::kPinned);
}
int free_host(void* memory) { return release(memory); }
int host_register(void* memory, std::size_t bytes, unsigned /*flags*/) {
  return register_memory(memory, bytes, MemoryKind::kRegistered);
}
int host_unregister(void* memory) { return release(memory); }
int host_device_pointer(void** device, void* host, unsigned /*flags*/) {
  *device = host;
  return kSuccess;
}

// Pools hold nothing: their allocations are ordinary ones.
// One for all: nothing is ever taken from a pool.
int pool_create(void** pool, const void* /*properties*/) {
  static char the_pool;
  *pool = &the_pool;
  return kSuccess;
}
int pool_destroy(void* /*pool*/) { return kSuccess; }
int pool_set_attribute(void* /*pool*/, int /*attribute*/, void* /*value*/) { return kSuccess; }

int memory_type(const std::optional<Allocation>& allocation) {
  if (!allocation) return kMemoryUnknown;
  const bool device =
      allocation->kind == MemoryKind::kDevice || allocation->kind == MemoryKind::kMapped;
  return device ? kMemoryDevice : kMemoryHost;
}

int pointer_attributes(PointerAttributes* out, const void* pointer) {
  constexpr int kNoDevice = -2;
  const auto allocation = find_allocation(pointer);
  void* address = const_cast<void*>(pointer);
  out->type = memory_type(allocation);
  out->device = allocation ? allocation->gpu : kNoDevice;
  out->device_pointer = allocation ? address : nullptr;
  out->host_pointer = out->type == kMemoryDevice ? nullptr : address;
  return kSuccess;
}

int driver_pointer_attribute(void* value, int attribute, const void* pointer) {
  const auto allocation = find_allocation(pointer);
  if (!allocation) return kInvalidValue;
  switch (attribute) {
    case kPointerMemoryType:
      *static_cast<int*>(value) = memory_type(allocation);
      return kSuccess;
    case kPointerDeviceOrdinal:
      *static_cast<int*>(value) = allocation->gpu;
      return kSuccess;
    case kPointerIsLegacyIpcCapable:
      *static_cast<int*>(value) = allocation->kind == MemoryKind::kDevice ? 1 : 0;
      return kSuccess;
    case kPointerSyncMemops:
      *static_cast<int*>(value) = 0;
      return kSuccess;
    default:
      return kNotSupported;
  }
}

int driver_address_range(void** base, std::size_t* bytes, void* pointer) {
  const auto allocation = find_allocation(pointer);
  if (!allocation) return kNotFound;
  if (base != nullptr) *base = allocation->base;
  if (bytes != nullptr) *bytes = allocation->bytes;
  return kSuccess;
}

// As CUDA does with pageable memory: a source is read before the call returns, a destination
// written.
int copy_async(void* to, const void* from, std::size_t bytes, int /*kind*/, void* stream) {
  if (!find_allocation(from)) {
    const auto* begin = static_cast<const char*>(from);
    auto copy = std::make_shared<std::vector<char>>(begin, begin + bytes);
    return enqueue(stream, [copy, to] { std::memcpy(to, copy->data(), copy->size()); });
  }
  const Error queued = enqueue(stream, [=] { std::memmove(to, from, bytes); });
  return queued == kSuccess && !find_allocation(to) ? synchronize(stream) : queued;
}

int copy(void* to, const void* from, std::size_t bytes, int /*kind*/) {
  synchronize(nullptr);
  std::memmove(to, from, bytes);
  return kSuccess;
}

void fill(void* to, int value, std::size_t bytes) {
  if (value == 0)
    zero(to, bytes);
  else
    std::memset(to, value, bytes);
}

int set_async(void* to, int value, std::size_t bytes, void* stream) {
  return enqueue(stream, [=] { fill(to, value, bytes); });
}

int set(void* to, int value, std::size_t bytes) {
  synchronize(nullptr);
  fill(to, value, bytes);
  return kSuccess;
}

}  // namespace

std::vector<ApiEntry> memory_api() {
  return {
      api_entry("cudaMalloc", malloc_device),
      api_entry("cudaMallocAsync", malloc_async),
      api_entry("cudaMallocFromPoolAsync", malloc_from_pool),
      api_entry("cudaFree", free_device),
      api_entry("cudaFreeAsync", free_async),
      api_entry("cudaHostAlloc", host_alloc),
      api_entry("cudaMallocHost", malloc_host),
      api_entry("cudaFreeHost", free_host),
      api_entry("cudaHostRegister", host_register),
      api_entry("cudaHostUnregister", host_unregister),
      api_entry("cudaHostGetDevicePointer", host_device_pointer),
      api_entry("cudaMemPoolCreate", pool_create),
      api_entry("cudaMemPoolDestroy", pool_destroy),
      api_entry("cudaMemPoolSetAttribute", pool_set_attribute),
      api_entry("cudaPointerGetAttributes", pointer_attributes),
      api_entry("cudaMemcpyAsync", copy_async),
      api_entry("cudaMemcpy", copy),
      api_entry("cudaMemsetAsync", set_async),
      api_entry("cudaMemset", set),
      api_entry("cuPointerGetAttribute", driver_pointer_attribute),
      api_entry("cuMemGetAddressRange", driver_address_range),
  };
}

}  // namespace softcuda
