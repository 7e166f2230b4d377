// The few functions of the CUDA driver that a rank needs, taken from libcuda.so.1 at run time: the
// test builds without a toolkit. Our own declarations (CUDA driver API; the _v2 entry points are
// those of CUDA 4.0 and later).
#pragma once

#include <cstddef>
#include <string>

namespace nnd::gpu {

using DevicePointer = unsigned long long;  // CUdeviceptr

class CudaDriver {
 public:
  // Opens the library and makes the first GPU's primary context current for this thread. Returns
  // why that can't be, or an empty text.
  std::string open();

  // Throw std::runtime_error that names the function and the driver's error number.
  DevicePointer allocate(std::size_t bytes);
  void to_device(DevicePointer to, const void* from, std::size_t bytes);
  void to_host(void* to, DevicePointer from, std::size_t bytes);
  void* create_stream();
  void synchronize(void* stream);

 private:
  int (*mem_alloc_)(DevicePointer*, std::size_t) = nullptr;
  int (*copy_to_device_)(DevicePointer, const void*, std::size_t) = nullptr;
  int (*copy_to_host_)(void*, DevicePointer, std::size_t) = nullptr;
  int (*stream_create_)(void**, unsigned) = nullptr;
  int (*stream_synchronize_)(void*) = nullptr;
};

}  // namespace nnd::gpu
