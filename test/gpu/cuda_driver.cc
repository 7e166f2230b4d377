#include "gpu/cuda_driver.h"

#include <dlfcn.h>

#include <stdexcept>

namespace nnd::gpu {

namespace {

void check(int error, const char* what) {
  if (error != 0)
    throw std::runtime_error(std::string(what) + ": CUDA driver error " + std::to_string(error));
}

}  // namespace

std::string CudaDriver::open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "no libcuda.so.1 (the NVIDIA driver)";
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing.empty()) missing = name;
  };
  int (*init)(unsigned) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  find(init, "cuInit");
  find(device_get, "cuDeviceGet");
  find(retain, "cuDevicePrimaryCtxRetain");
  find(set_current, "cuCtxSetCurrent");
  find(mem_alloc_, "cuMemAlloc_v2");
  find(copy_to_device_, "cuMemcpyHtoD_v2");
  find(copy_to_host_, "cuMemcpyDtoH_v2");
  find(stream_create_, "cuStreamCreate");
  find(stream_synchronize_, "cuStreamSynchronize");
  if (!missing.empty()) return "libcuda.so.1 has no " + missing;
  int device = 0;
  void* context = nullptr;
  if (init(0) != 0 || device_get(&device, 0) != 0) return "no GPU that the driver can use";
  if (retain(&context, device) != 0 || set_current(context) != 0)
    return "the first GPU gives no context";
  return {};
}

DevicePointer CudaDriver::allocate(std::size_t bytes) {
  DevicePointer out = 0;
  check(mem_alloc_(&out, bytes), "cuMemAlloc");
  return out;
}

void CudaDriver::to_device(DevicePointer to, const void* from, std::size_t bytes) {
  check(copy_to_device_(to, from, bytes), "cuMemcpyHtoD");
}

void CudaDriver::to_host(void* to, DevicePointer from, std::size_t bytes) {
  check(copy_to_host_(to, from, bytes), "cuMemcpyDtoH");
}

void* CudaDriver::create_stream() {
  constexpr unsigned kNonBlocking = 1;
  void* out = nullptr;
  check(stream_create_(&out, kNonBlocking), "cuStreamCreate");
  return out;
}

void CudaDriver::synchronize(void* stream) {
  check(stream_synchronize_(stream), "cuStreamSynchronize");
}

}  // namespace nnd::gpu
