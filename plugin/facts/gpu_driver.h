// What NVIDIA's driver says of the GPUs that this process may use, and of memory. It is asked only
// where the process has loaded and initialised it: never by us. Numbers: CUDA 12.9 and 13.0, cuda.h
// (`ctest -R abi.cuda` compares them).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace nnd::facts {

namespace cuda {
inline constexpr int kGpuDirectRdmaSupported = 116;      // CUdevice_attribute
inline constexpr int kDmaBufSupported = 124;             // likewise
inline constexpr int kPointerMemoryType = 2;             // CUpointer_attribute
inline constexpr int kPointerIsManaged = 8;              // likewise
inline constexpr int kPointerGpuDirectRdmaCapable = 15;  // likewise
inline constexpr unsigned kMemoryDevice = 2;             // CUmemorytype
}  // namespace cuda

// Functions of libcuda; each answers 0 for success.
struct CudaDriver {
  int (*version)(int* version) = nullptr;  // 12040: 12.4
  int (*count)(int* gpus) = nullptr;
  int (*pci_bus_id)(char* text, int bytes, int gpu) = nullptr;
  int (*attribute)(int* value, int attribute, int gpu) = nullptr;
  int (*can_access_peer)(int* can, int gpu, int peer) = nullptr;
  int (*current)(int* gpu) = nullptr;  // of the calling thread; an error where it uses none
  int (*pointer_attribute)(void* value, int attribute, unsigned long long address) = nullptr;
};

// None: this process has no libcuda. The functions stay valid: libcuda is never unloaded.
std::optional<CudaDriver> loaded_cuda_driver();

struct Gpu {
  std::string pci;  // "0000:1b:00.0"
  // None: the driver is too old to know.
  std::optional<bool> rdma;
  std::optional<bool> dmabuf;
};

struct GpuDriver {
  int version = 0;        // CUDA's, 12040 for 12.4; 0: nobody could be asked
  std::vector<Gpu> gpus;  // by the driver's ordinal: those that this process may use
  std::string current;    // that of the thread that asked, on which NCCL makes its communicator
  std::size_t pairs = 0;  // ordered pairs of them
  std::size_t peers = 0;  // that reach each other's memory

  // What all of them lack, or some have; none: not told.
  std::optional<bool> any_rdma() const;
  std::optional<bool> any_dmabuf() const;
};

GpuDriver ask_gpu_driver(const std::optional<CudaDriver>& driver);

// What memory that an HCA was to be given is.
struct GpuMemory {
  bool known = false;           // by the driver
  bool device = false;          // of a GPU; else of the host
  bool managed = false;         // moves between the two
  std::optional<bool> capable;  // of GPUDirect RDMA
};
GpuMemory ask_gpu_memory(const std::optional<CudaDriver>& driver, const void* address);

}  // namespace nnd::facts
