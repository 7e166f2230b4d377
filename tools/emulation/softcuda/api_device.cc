// Devices, their attributes, versions, error names.
#include <cstdio>
#include <cstring>
#include <utility>

#include "api.h"
#include "cuda_abi.h"
#include "gpu.h"
#include "refusal.h"
#include "stream.h"

namespace softcuda {
namespace {

constexpr int kCudaVersion = 13000;  // what driver and runtime say they are: 13.0

const PciAddress* gpu_at(int device) {
  const auto& all = gpus();
  return device >= 0 && static_cast<std::size_t>(device) < all.size()
             ? &all[static_cast<std::size_t>(device)]
             : nullptr;
}

int get_device_count(int* count) {
  *count = static_cast<int>(gpus().size());
  return kSuccess;
}

int get_device(int* device) {
  *device = current_gpu();
  return kSuccess;
}

int set_device(int device) {
  if (gpu_at(device) == nullptr) return kInvalidDevice;
  set_current_gpu(device);
  return kSuccess;
}

// What isn't named is 0: dma-buf, multicast (NVLS), fabric handles, managed memory, ordered
// GPUDirect writes. NCCL doesn't take these ways then.
int get_attribute(int* value, int attribute, int device) {
  const PciAddress* gpu = gpu_at(device);
  if (gpu == nullptr) return kInvalidDevice;
  switch (attribute) {
    case kMaxThreadsPerBlock:
      *value = kThreadsPerBlock;
      break;
    case kMaxSharedMemoryPerBlock:
      *value = kSharedPerBlock;
      break;
    case kMaxSharedMemoryPerBlockOptin:
      *value = kSharedPerBlockOptin;
      break;
    case kMaxSharedMemoryPerMultiprocessor:
      *value = kSharedPerMultiprocessor;
      break;
    case kMultiprocessorCount:
      *value = kMultiprocessors;
      break;
    case kComputeCapabilityMajor:
      *value = kComputeMajor;
      break;
    case kComputeCapabilityMinor:
      *value = kComputeMinor;
      break;
    case kPciDomainId:
      *value = static_cast<int>(gpu->domain);
      break;
    case kPciBusId:
      *value = static_cast<int>(gpu->bus);
      break;
    case kPciDeviceId:
      *value = static_cast<int>(gpu->device);
      break;
    case kCanMapHostMemory:
    case kUnifiedAddressing:
    case kCanUseHostPointerForRegisteredMem:
    case kHostRegisterSupported:
    case kVirtualMemoryManagementSupported:
    case kMemoryPoolsSupported:
    case kGpuDirectRdmaWithVmmSupported:
    case kGpuDirectRdmaSupported:
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}

int get_pci_bus_id(char* text, int bytes, int device) {
  const PciAddress* gpu = gpu_at(device);
  if (gpu == nullptr || bytes <= 0) return kInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(bytes), "%s", to_string(*gpu).c_str());
  return kSuccess;
}

int get_by_pci_bus_id(int* device, const char* text) {
  const auto wanted = parse_pci(text);
  if (!wanted) return kInvalidValue;
  for (std::size_t i = 0; i < gpus().size(); ++i)
    if (to_string(gpus()[i]) == to_string(*wanted)) {
      *device = static_cast<int>(i);
      return kSuccess;
    }
  return kInvalidDevice;
}

void fill_uuid(char (&uuid)[16], int device) {
  const PciAddress gpu = *gpu_at(device);
  std::memset(uuid, 0x5a, sizeof uuid);
  uuid[0] = static_cast<char>(gpu.bus);
  uuid[1] = static_cast<char>(gpu.device);
  uuid[2] = static_cast<char>(gpu.domain);
}

int get_properties(void* properties, int device) {
  if (gpu_at(device) == nullptr) return kInvalidDevice;
  DeviceProperties head{};
  std::snprintf(head.name, sizeof head.name, "%s", kDeviceName);
  fill_uuid(head.uuid, device);
  head.total_memory = kDeviceMemory;
  head.shared_per_block = kSharedPerBlock;
  head.registers_per_block = kRegistersPerMultiprocessor;
  head.warp_size = 32;
  head.max_threads_per_block = kThreadsPerBlock;
  head.major = kComputeMajor;
  head.minor = kComputeMinor;
  std::memcpy(properties, &head, sizeof head);
  return kSuccess;
}

int can_access_peer(int* can, int device, int peer) {
  *can = have_nvswitch() && device != peer ? 1 : 0;
  return kSuccess;
}

int enable_peer_access(int /*peer*/, unsigned /*flags*/) {
  return have_nvswitch() ? kSuccess : kNotSupported;
}

int set_limit(int /*limit*/, std::size_t /*value*/) { return kSuccess; }

int synchronize_device() {
  synchronize_all();
  return kSuccess;
}

int get_version(int* version) {
  *version = kCudaVersion;
  return kSuccess;
}

int last_error() { return kSuccess; }

struct ErrorWords {
  int error;
  const char *name, *text;
};
constexpr ErrorWords kErrors[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "cudaErrorMemoryAllocation", "out of memory"},
    {kInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {kInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {kNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kNotReady, "cudaErrorNotReady", "device not ready"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const char* error_name(int error) {
  for (const ErrorWords& each : kErrors)
    if (each.error == error) return each.name;
  return "unrecognized error code";
}

// Where a kernel was refused, says which: that is all that a framework shows of it.
const char* error_text(int error) {
  if (error == kNotSupported)
    if (const char* sentence = refusal_text(); sentence != nullptr) return sentence;
  for (const ErrorWords& each : kErrors)
    if (each.error == error) return each.text;
  return "unrecognized error code";
}

int driver_error_text(int error, const char** text) {
  *text = error_text(error);
  return kSuccess;
}
int driver_error_name(int error, const char** name) {
  *name = error_name(error);
  return kSuccess;
}

int driver_get_device(int* device, int ordinal) {
  if (gpu_at(ordinal) == nullptr) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

int driver_get_uuid(char (*uuid)[16], int device) {
  if (gpu_at(device) == nullptr) return kInvalidDevice;
  fill_uuid(*uuid, device);
  return kSuccess;
}

// A context is the device's number plus one.
void* context_of(int device) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
}

int driver_get_context(void** context) {
  *context = context_of(current_gpu());
  return kSuccess;
}

int driver_set_context(void* context) {
  if (context != nullptr)
    set_current_gpu(static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1);
  return kSuccess;
}

int driver_init(unsigned /*flags*/) { return kSuccess; }

}  // namespace

std::vector<ApiEntry> device_api() {
  return {
      api_entry("cudaGetDeviceCount", get_device_count),
      api_entry("cudaGetDevice", get_device),
      api_entry("cudaSetDevice", set_device),
      api_entry("cudaDeviceGetAttribute", get_attribute),
      api_entry("cudaDeviceGetPCIBusId", get_pci_bus_id),
      api_entry("cudaDeviceGetByPCIBusId", get_by_pci_bus_id),
      api_entry("cudaGetDeviceProperties", get_properties),  // CUDA 13
      api_entry("cudaGetDeviceProperties_v2", get_properties),
      api_entry("cudaDeviceCanAccessPeer", can_access_peer),
      api_entry("cudaDeviceEnablePeerAccess", enable_peer_access),
      api_entry("cudaDeviceSetLimit", set_limit),
      api_entry("cudaDeviceSynchronize", synchronize_device),
      api_entry("cudaDriverGetVersion", get_version),
      api_entry("cudaRuntimeGetVersion", get_version),
      api_entry("cudaGetLastError", last_error),
      api_entry("cudaPeekAtLastError", last_error),
      api_entry("cudaGetErrorString", error_text),
      api_entry("cudaGetErrorName", error_name),
      api_entry("cuInit", driver_init),
      api_entry("cuDriverGetVersion", get_version),
      api_entry("cuGetErrorString", driver_error_text),
      api_entry("cuGetErrorName", driver_error_name),
      api_entry("cuDeviceGet", driver_get_device),
      api_entry("cuDeviceGetCount", get_device_count),
      api_entry("cuDeviceGetPCIBusId", get_pci_bus_id),
      api_entry("cuDeviceCanAccessPeer", can_access_peer),
      api_entry("cuDeviceGetAttribute", get_attribute),
      api_entry("cuDeviceGetUuid", driver_get_uuid),
      api_entry("cuCtxGetCurrent", driver_get_context),
      api_entry("cuCtxSetCurrent", driver_set_context),
      api_entry("cuCtxGetDevice", get_device),
  };
}

}  // namespace softcuda
