// Versions and cudaDeviceProp, whose members have other places in each release of the runtime.
#include <cstdio>
#include <cstring>

#include "program_api.h"
#include "softcuda/cuda_abi.h"
#include "softcuda/gpu.h"

namespace softcuda {
namespace {

using GetProperties = int (*)(void* properties, int device);

template <typename T>
void put(void* properties, std::size_t place, T value) {
  std::memcpy(static_cast<char*>(properties) + place, &value, sizeof value);
}

int fill_properties(void* properties, int device, const PropertyPlaces& at) {
  if (device < 0 || static_cast<std::size_t>(device) >= gpus().size())
    return keep_error(kInvalidDevice);
  std::memset(properties, 0, at.bytes);
  reinterpret_cast<GetProperties>(const_cast<void*>(find_api("cudaGetDeviceProperties")))(
      properties, device);
  const PciAddress& gpu = gpus()[static_cast<std::size_t>(device)];
  put(properties, at.multiprocessors, kMultiprocessors);
  put(properties, at.concurrent_kernels, 1);
  put(properties, at.pci_bus, static_cast<int>(gpu.bus));
  put(properties, at.pci_device, static_cast<int>(gpu.device));
  put(properties, at.pci_domain, static_cast<int>(gpu.domain));
  put(properties, at.unified_addressing, 1);
  put(properties, at.l2_cache, kL2CacheBytes);
  put(properties, at.threads_per_multiprocessor, kThreadsPerMultiprocessor);
  put(properties, at.stream_priorities, 1);
  put(properties, at.shared_per_multiprocessor, std::size_t{kSharedPerMultiprocessor});
  put(properties, at.registers_per_multiprocessor, kRegistersPerMultiprocessor);
  put(properties, at.shared_per_block_optin, std::size_t{kSharedPerBlockOptin});
  return kSuccess;
}

int get_properties_12(void* properties, int device) {
  return fill_properties(properties, device, kPropertyPlaces12);
}
int get_properties_13(void* properties, int device) {
  return fill_properties(properties, device, kPropertyPlaces13);
}

// The head of a Driver's name and of what it says of memory.
int driver_get_name(char* text, int bytes, int device) {
  if (device < 0 || static_cast<std::size_t>(device) >= gpus().size() || bytes <= 0)
    return kInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(bytes), "%s", kDeviceName);
  return kSuccess;
}
int driver_total_memory(std::size_t* bytes, int /*device*/) {
  *bytes = kDeviceMemory;
  return kSuccess;
}

template <int Version>
int get_version(int* version) {
  *version = Version;
  return kSuccess;
}

}  // namespace

std::vector<ApiEntry> property_api(long release) {
  constexpr long kTwelve = 12, kThirteen = 13;
  if (release == kTwelve)
    return {api_entry("cudaRuntimeGetVersion", get_version<12060>),
            api_entry("cudaGetDeviceProperties_v2", get_properties_12)};
  if (release == kThirteen)
    return {api_entry("cudaRuntimeGetVersion", get_version<13000>),
            api_entry("cudaGetDeviceProperties", get_properties_13)};
  return {api_entry("cuDeviceGetName", driver_get_name),
          api_entry("cuDeviceTotalMem_v2", driver_total_memory)};
}

}  // namespace softcuda
