// libcuda.so for NCCL up to 2.20, which takes the first three from it by dlsym and all else from
// cuGetProcAddress, and for who asks what is loaded.
#include "stub_abi.h"

namespace {

softcuda::DriverLookup look_up = nullptr;

template <typename F>
F find(const char* name) {
  void* function = nullptr;
  return look_up != nullptr && look_up(name, &function, 0, 0) == 0 ? reinterpret_cast<F>(function)
                                                                   : nullptr;
}

constexpr int kNotInitialized = 3;

template <typename... Args>
int call(const char* name, Args... args) {
  auto* function = find<int (*)(Args...)>(name);
  return function != nullptr ? function(args...) : kNotInitialized;
}

}  // namespace

#define CUDA extern "C" __attribute__((visibility("default")))

CUDA void softcuda_set_lookup(softcuda::DriverLookup lookup) { look_up = lookup; }

CUDA int cuInit(unsigned flags) { return call("cuInit", flags); }

CUDA int cuDriverGetVersion(int* version) { return call("cuDriverGetVersion", version); }

CUDA int cuGetProcAddress(const char* name, void** function, int version,
                          unsigned long long flags) {
  return look_up != nullptr ? look_up(name, function, version, flags) : kNotInitialized;
}

CUDA int cuDeviceGetCount(int* count) { return call("cuDeviceGetCount", count); }

CUDA int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  return call("cuDeviceGetPCIBusId", text, bytes, device);
}

// Scenarios don't say whether their GPUs export DMA-BUF. What NCCL is told elsewhere, no, is
// softcuda's own.
CUDA int cuDeviceGetAttribute(int* value, int attribute, int device) {
  constexpr int kDmaBufSupported = 124, kNotSupported = 801;
  if (attribute == kDmaBufSupported) return kNotSupported;
  return call("cuDeviceGetAttribute", value, attribute, device);
}

CUDA int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return call("cuDeviceCanAccessPeer", can, device, peer);
}

CUDA int cuCtxGetDevice(int* device) { return call("cuCtxGetDevice", device); }

CUDA int cuPointerGetAttribute(void* value, int attribute, unsigned long long address) {
  return call("cuPointerGetAttribute", value, attribute, address);
}
