#include "facts/gpu_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace nnd::facts {

namespace {

template <class F>
bool find(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(::dlsym(library, name));
  return out != nullptr;
}

std::optional<bool> attribute(const CudaDriver& driver, int number, int gpu) {
  int value = 0;
  if (driver.attribute(&value, number, gpu) != 0) return std::nullopt;
  return value != 0;
}

// As sysfs writes it, which the driver does in capitals.
std::string pci_of(const CudaDriver& driver, int gpu) {
  std::array<char, 32> text{};
  if (driver.pci_bus_id(text.data(), static_cast<int>(text.size()) - 1, gpu) != 0) return {};
  std::string out = text.data();
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

void count_peers(const CudaDriver& driver, int gpus, GpuDriver& out) {
  for (int one = 0; one < gpus; ++one)
    for (int other = 0; other < gpus; ++other) {
      int can = 0;
      if (one == other || driver.can_access_peer(&can, one, other) != 0) continue;
      ++out.pairs;
      if (can != 0) ++out.peers;
    }
}

template <class Member>
std::optional<bool> any(const std::vector<Gpu>& gpus, Member member) {
  std::optional<bool> out;
  for (const Gpu& gpu : gpus)
    if (const std::optional<bool>& has = gpu.*member) out = out.value_or(false) || *has;
  return out;
}

}  // namespace

std::optional<CudaDriver> loaded_cuda_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) library = ::dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  CudaDriver out;
  const bool found = find(library, "cuDriverGetVersion", out.version) &&
                     find(library, "cuDeviceGetCount", out.count) &&
                     find(library, "cuDeviceGetPCIBusId", out.pci_bus_id) &&
                     find(library, "cuDeviceGetAttribute", out.attribute) &&
                     find(library, "cuDeviceCanAccessPeer", out.can_access_peer) &&
                     find(library, "cuCtxGetDevice", out.current) &&
                     find(library, "cuPointerGetAttribute", out.pointer_attribute);
  ::dlclose(library);  // only the count of this call: who loaded it keeps it
  return found ? std::optional(out) : std::nullopt;
}

std::optional<bool> GpuDriver::any_rdma() const { return any(gpus, &Gpu::rdma); }

std::optional<bool> GpuDriver::any_dmabuf() const { return any(gpus, &Gpu::dmabuf); }

GpuDriver ask_gpu_driver(const std::optional<CudaDriver>& driver) {
  GpuDriver out;
  int gpus = 0;
  // Before cuInit, and in a forked child, it answers with an error.
  if (!driver || driver->count(&gpus) != 0 || driver->version(&out.version) != 0) return {};
  for (int gpu = 0; gpu < gpus; ++gpu)
    out.gpus.push_back({pci_of(*driver, gpu),
                        attribute(*driver, cuda::kGpuDirectRdmaSupported, gpu),
                        attribute(*driver, cuda::kDmaBufSupported, gpu)});
  if (int own = 0; driver->current(&own) == 0) out.current = pci_of(*driver, own);
  count_peers(*driver, gpus, out);
  return out;
}

GpuMemory ask_gpu_memory(const std::optional<CudaDriver>& driver, const void* address) {
  GpuMemory out;
  if (!driver) return out;
  const auto at = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address));
  unsigned type = 0;
  // Memory that the driver has never heard of is the host's, and an error.
  if (driver->pointer_attribute(&type, cuda::kPointerMemoryType, at) != 0) return out;
  out.known = true;
  out.device = type == cuda::kMemoryDevice;
  std::array<char, 4> flag{};  // the driver writes one byte or four
  if (driver->pointer_attribute(flag.data(), cuda::kPointerIsManaged, at) == 0)
    out.managed = flag[0] != 0;
  flag = {};
  if (driver->pointer_attribute(flag.data(), cuda::kPointerGpuDirectRdmaCapable, at) == 0)
    out.capable = flag[0] != 0;
  return out;
}

}  // namespace nnd::facts
