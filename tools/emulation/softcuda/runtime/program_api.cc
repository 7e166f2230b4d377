#include "program_api.h"

#include <map>
#include <utility>

#include "softcuda/cuda_abi.h"
#include "softcuda/event.h"
#include "softcuda/gpu.h"
#include "softcuda/memory.h"
#include "softcuda/program_kernels.h"
#include "softcuda/stream.h"

namespace softcuda {
namespace {

thread_local int last_error = kSuccess;

int get_last_error() { return std::exchange(last_error, kSuccess); }
int peek_last_error() { return last_error; }

// A call of ours that the shared tables have, whose error is kept.
template <typename... Args>
int kept(const char* name, Args... args) {
  return keep_error(reinterpret_cast<int (*)(Args...)>(const_cast<void*>(find_api(name)))(args...));
}

int get_device_count(int* count) {
  *count = static_cast<int>(gpus().size());
  return *count > 0 ? kSuccess : keep_error(kNoDevice);
}
int set_device(int device) { return kept("cudaSetDevice", device); }
int malloc_device(void** out, std::size_t bytes) { return kept("cudaMalloc", out, bytes); }
int launch_kernel(const void* function, Dim3 grid, Dim3 block, void** parameters,
                  std::size_t shared, void* stream) {
  return kept("cudaLaunchKernel", function, grid, block, parameters, shared, stream);
}

// The compiler's own calls: a kernel<<<...>>>() pushes its configuration, and the kernel's host
// stub pops it and launches.
struct Configuration {
  Dim3 grid, block;
  std::size_t shared;
  void* stream;
};

std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> stack;
  return stack;
}

unsigned push_configuration(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
  configurations().push_back({grid, block, shared, stream});
  return kSuccess;
}

int pop_configuration(Dim3* grid, Dim3* block, std::size_t* shared, void** stream) {
  auto& stack = configurations();
  if (stack.empty()) return keep_error(kInvalidConfiguration);
  const Configuration top = stack.back();
  stack.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *stream = top.stream;
  return kSuccess;
}

void** register_fat_binary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void end_fat_binary(void** /*handle*/) {}
void register_function(void** /*binary*/, const char* host_stub, char* /*device*/, const char* name,
                       int /*threads*/, void* /*thread*/, void* /*block*/, void* /*block_dim*/,
                       void* /*grid_dim*/, int* /*warp*/) {
  register_kernel(host_stub, name);
}
void register_variable(void** /*binary*/, char* /*host*/, char* /*device*/, const char* /*name*/,
                       int /*external*/, std::size_t /*bytes*/, int /*constant*/, int /*global*/) {}

// A kernel's handle is the address of its host stub.
int get_kernel(void** kernel, const void* host_stub) {
  *kernel = const_cast<void*>(host_stub);
  return kSuccess;
}
int launch_by_handle(void* kernel, Dim3 grid, Dim3 block, void** parameters, std::size_t shared,
                     void* stream) {
  return launch_kernel(kernel, grid, block, parameters, shared, stream);
}

int record_event_with_flags(void* event, void* stream, unsigned /*flags*/) {
  return record_event(event, stream);
}

constexpr int kLeastPriority = 0, kGreatestPriority = -5;
int priority_range(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return kSuccess;
}
int stream_priority(void* /*stream*/, int* priority) {
  *priority = kLeastPriority;
  return kSuccess;
}
int stream_device(void* stream, int* device) {
  *device = device_of_stream(stream);
  return kSuccess;
}
int add_callback(void* stream, void (*callback)(void*, int, void*), void* argument,
                 unsigned /*flags*/) {
  return enqueue(stream, [=] { callback(stream, kSuccess, argument); });
}

int memory_info(std::size_t* free, std::size_t* total) {
  *total = kDeviceMemory;
  *free = kDeviceMemory - std::min(kDeviceMemory, device_bytes(current_gpu()));
  return kSuccess;
}

// Pools hold nothing (api_memory.cc).
int default_pool(void** pool, int /*device*/) {
  static char the_pool;
  *pool = &the_pool;
  return kSuccess;
}
int trim_pool(void* /*pool*/, std::size_t /*keep*/) { return kSuccess; }
int pool_access(void* /*pool*/, const void* /*to*/, std::size_t /*count*/) { return kSuccess; }

int copy_to_peer(void* to, int /*device*/, const void* from, int /*from_device*/, std::size_t bytes,
                 void* stream) {
  constexpr int kDeviceToDevice = 3;
  return kept("cudaMemcpyAsync", to, from, bytes, kDeviceToDevice, stream);
}

int active_blocks(int* blocks, const void* /*kernel*/, int /*threads*/, std::size_t /*shared*/) {
  *blocks = 2;
  return kSuccess;
}
int active_blocks_with_flags(int* blocks, const void* kernel, int threads, std::size_t shared,
                             unsigned /*flags*/) {
  return active_blocks(blocks, kernel, threads, shared);
}

int profiler() { return kSuccess; }

int primary_context_state(int device, unsigned* flags, int* active) {
  *flags = 0;
  *active = device >= 0 && static_cast<std::size_t>(device) < gpus().size() ? 1 : 0;
  return kSuccess;
}

}  // namespace

int keep_error(int error) {
  if (error != kSuccess && error != kNotReady) last_error = error;
  return error;
}

std::vector<ApiEntry> program_api() {
  return {
      api_entry("cudaGetLastError", get_last_error),
      api_entry("cudaPeekAtLastError", peek_last_error),
      api_entry("cudaGetDeviceCount", get_device_count),
      api_entry("cudaSetDevice", set_device),
      api_entry("cudaMalloc", malloc_device),
      api_entry("cudaLaunchKernel", launch_kernel),
      api_entry("__cudaPushCallConfiguration", push_configuration),
      api_entry("__cudaPopCallConfiguration", pop_configuration),
      api_entry("__cudaRegisterFatBinary", register_fat_binary),
      api_entry("__cudaRegisterFatBinaryEnd", end_fat_binary),
      api_entry("__cudaUnregisterFatBinary", end_fat_binary),
      api_entry("__cudaRegisterFunction", register_function),
      api_entry("__cudaRegisterVar", register_variable),
      api_entry("__cudaGetKernel", get_kernel),
      api_entry("__cudaLaunchKernel", launch_by_handle),
      api_entry("cudaEventRecordWithFlags", record_event_with_flags),
      api_entry("cudaDeviceGetStreamPriorityRange", priority_range),
      api_entry("cudaStreamGetPriority", stream_priority),
      api_entry("cudaStreamGetDevice", stream_device),
      api_entry("cudaStreamAddCallback", add_callback),
      api_entry("cudaMemGetInfo", memory_info),
      api_entry("cudaDeviceGetDefaultMemPool", default_pool),
      api_entry("cudaMemPoolTrimTo", trim_pool),
      api_entry("cudaMemPoolSetAccess", pool_access),
      api_entry("cudaMemcpyPeerAsync", copy_to_peer),
      api_entry("cudaOccupancyMaxActiveBlocksPerMultiprocessor", active_blocks),
      api_entry("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", active_blocks_with_flags),
      api_entry("cudaProfilerStart", profiler),
      api_entry("cudaProfilerStop", profiler),
      api_entry("cuDevicePrimaryCtxGetState", primary_context_state),
  };
}

const void* find_program_api(std::string_view name, long release) {
  static auto& tables = *new std::map<long, std::map<std::string_view, const void*>>;
  auto& table = tables[release];
  if (table.empty())
    for (const auto& part : {program_api(), property_api(release)})
      for (const ApiEntry& entry : part) table.emplace(entry.name, entry.function);
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace softcuda
