// libcuda.so for NCCL up to 2.20, which takes these three from it by dlsym and all else from
// cuGetProcAddress.
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

}  // namespace

#define CUDA extern "C" __attribute__((visibility("default")))

CUDA void softcuda_set_lookup(softcuda::DriverLookup lookup) { look_up = lookup; }

CUDA int cuInit(unsigned flags) {
  auto* function = find<int (*)(unsigned)>("cuInit");
  return function != nullptr ? function(flags) : kNotInitialized;
}

CUDA int cuDriverGetVersion(int* version) {
  auto* function = find<int (*)(int*)>("cuDriverGetVersion");
  return function != nullptr ? function(version) : kNotInitialized;
}

CUDA int cuGetProcAddress(const char* name, void** function, int version,
                          unsigned long long flags) {
  return look_up != nullptr ? look_up(name, function, version, flags) : kNotInitialized;
}
