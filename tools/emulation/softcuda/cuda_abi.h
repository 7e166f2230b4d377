// The few constants and structures of the CUDA driver and runtime interfaces that libnccl uses, in
// our own declarations, so that no toolkit is needed. Source: cuda.h, driver_types.h and
// cuda_runtime_api.h of CUDA 12 and 13, with which test/abi/cuda compares all of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softcuda {

// cudaError_t and CUresult share these numbers.
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidConfiguration = 9,
  kInvalidDeviceFunction = 98,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kNotSupported = 801,
};

// CUdevice_attribute; cudaDeviceAttr has the same numbers.
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kMultiprocessorCount = 16,
  kCanMapHostMemory = 19,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kUnifiedAddressing = 41,
  kPciDomainId = 50,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kCanUseHostPointerForRegisteredMem = 91,
  kMaxSharedMemoryPerBlockOptin = 97,
  kHostRegisterSupported = 99,
  kVirtualMemoryManagementSupported = 102,
  kGpuDirectRdmaWithVmmSupported = 110,
  kMemoryPoolsSupported = 115,
  kGpuDirectRdmaSupported = 116,
};

// CUpointer_attribute
enum PointerAttribute : int {
  kPointerMemoryType = 2,
  kPointerSyncMemops = 6,
  kPointerDeviceOrdinal = 9,
  kPointerIsLegacyIpcCapable = 10,
};

// cudaMemoryType and CUmemorytype share these numbers.
enum MemoryType : int { kMemoryUnknown = 0, kMemoryHost = 1, kMemoryDevice = 2 };

// The "extra" argument of cuLaunchKernel: pairs of one of these and a pointer.
inline constexpr std::uintptr_t kLaunchParamEnd = 0;
inline constexpr std::uintptr_t kLaunchParamBuffer = 1;
inline constexpr std::uintptr_t kLaunchParamBufferSize = 2;

inline constexpr unsigned kStreamWaitValueEqual = 1;  // CU_STREAM_WAIT_VALUE_EQ

struct AllocationProperties {  // CUmemAllocationProp
  int type, handle_types, location_type, location_id;
  void* windows_meta_data;
  unsigned char compression, gpu_direct_rdma_capable;
  unsigned short usage;
  unsigned char reserved[4];
};

struct Dim3 {
  unsigned x, y, z;
};

struct DriverLaunchConfig {  // head of CUlaunchConfig
  Dim3 grid, block;
  unsigned shared_bytes;
  void* stream;
};

struct RuntimeLaunchConfig {  // head of cudaLaunchConfig_t
  Dim3 grid, block;
  std::size_t shared_bytes;
  void* stream;
};

struct PointerAttributes {  // head of cudaPointerAttributes
  int type, device;
  void *device_pointer, *host_pointer;
};

struct FunctionAttributes {  // head of cudaFuncAttributes
  std::size_t shared_bytes, const_bytes, local_bytes;
  int max_threads_per_block, registers, ptx_version, binary_version, cache_mode_ca,
      max_dynamic_shared_bytes;
};

struct DeviceProperties {  // head of cudaDeviceProp (CUDA 12)
  char name[256];
  char uuid[16], luid[8];
  unsigned luid_node_mask;
  std::size_t total_memory, shared_per_block;
  int registers_per_block, warp_size;
  std::size_t memory_pitch;
  int max_threads_per_block, max_threads_dim[3], max_grid[3], clock_khz;
  std::size_t const_memory;
  int major, minor;
};

// Where cudaDeviceProp has what follows the head, in bytes; the releases differ.
struct PropertyPlaces {
  std::size_t bytes, multiprocessors, concurrent_kernels, pci_bus, pci_device, pci_domain,
      unified_addressing, l2_cache, threads_per_multiprocessor, stream_priorities,
      shared_per_multiprocessor, registers_per_multiprocessor, shared_per_block_optin;
};
inline constexpr PropertyPlaces kPropertyPlaces12{.bytes = 1032,
                                                  .multiprocessors = 388,
                                                  .concurrent_kernels = 576,
                                                  .pci_bus = 584,
                                                  .pci_device = 588,
                                                  .pci_domain = 592,
                                                  .unified_addressing = 604,
                                                  .l2_cache = 616,
                                                  .threads_per_multiprocessor = 624,
                                                  .stream_priorities = 628,
                                                  .shared_per_multiprocessor = 640,
                                                  .registers_per_multiprocessor = 648,
                                                  .shared_per_block_optin = 696};
inline constexpr PropertyPlaces kPropertyPlaces13{.bytes = 1008,
                                                  .multiprocessors = 384,
                                                  .concurrent_kernels = 560,
                                                  .pci_bus = 568,
                                                  .pci_device = 572,
                                                  .pci_domain = 576,
                                                  .unified_addressing = 588,
                                                  .l2_cache = 596,
                                                  .threads_per_multiprocessor = 604,
                                                  .stream_priorities = 608,
                                                  .shared_per_multiprocessor = 624,
                                                  .registers_per_multiprocessor = 632,
                                                  .shared_per_block_optin = 672};

}  // namespace softcuda
