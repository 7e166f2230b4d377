// softcuda's numbers and layouts, and those by which the plugin asks the driver, against the CUDA
// Toolkit's own headers, for each toolkit (cuda/compare).
#include <cuda.h>
#include <driver_types.h>

#include "facts/gpu_driver.h"
#include "same.h"
#include "softcuda/cuda_abi.h"

static_assert(nnd::facts::cuda::kGpuDirectRdmaSupported ==
              CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
static_assert(nnd::facts::cuda::kPointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(nnd::facts::cuda::kPointerIsManaged == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(nnd::facts::cuda::kMemoryDevice == CU_MEMORYTYPE_DEVICE);
static_assert(nnd::facts::cuda::kDmaBufSupported == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
static_assert(nnd::facts::cuda::kPointerGpuDirectRdmaCapable ==
              CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE);

SAME(kSuccess, CUDA_SUCCESS);
SAME(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(kNotFound, CUDA_ERROR_NOT_FOUND);
SAME(kNotReady, CUDA_ERROR_NOT_READY);
SAME(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(kSuccess, cudaSuccess);
SAME(kInvalidValue, cudaErrorInvalidValue);
SAME(kOutOfMemory, cudaErrorMemoryAllocation);
SAME(kInvalidDeviceFunction, cudaErrorInvalidDeviceFunction);
SAME(kInvalidDevice, cudaErrorInvalidDevice);
SAME(kInvalidHandle, cudaErrorInvalidResourceHandle);
SAME(kNotFound, cudaErrorSymbolNotFound);
SAME(kNotReady, cudaErrorNotReady);
SAME(kNotSupported, cudaErrorNotSupported);
SAME(kInvalidConfiguration, cudaErrorInvalidConfiguration);
SAME(kNoDevice, cudaErrorNoDevice);

SAME(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(kMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(kCanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(kPciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(kPciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(kPciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(kMaxSharedMemoryPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(kCanUseHostPointerForRegisteredMem,
     CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
SAME(kMaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(kHostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
SAME(kVirtualMemoryManagementSupported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(kGpuDirectRdmaWithVmmSupported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
SAME(kMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(kGpuDirectRdmaSupported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
SAME(kMaxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock);
SAME(kMultiprocessorCount, cudaDevAttrMultiProcessorCount);
SAME(kComputeCapabilityMajor, cudaDevAttrComputeCapabilityMajor);
SAME(kGpuDirectRdmaSupported, cudaDevAttrGPUDirectRDMASupported);

SAME(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(kPointerSyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
SAME(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(kPointerIsLegacyIpcCapable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
SAME(kMemoryHost, CU_MEMORYTYPE_HOST);
SAME(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
SAME(kMemoryUnknown, cudaMemoryTypeUnregistered);
SAME(kMemoryHost, cudaMemoryTypeHost);
SAME(kMemoryDevice, cudaMemoryTypeDevice);
SAME(kStreamWaitValueEqual, CU_STREAM_WAIT_VALUE_EQ);
SAME(kLaunchParamEnd, CU_LAUNCH_PARAM_END_AS_INT);
SAME(kLaunchParamBuffer, CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
SAME(kLaunchParamBufferSize, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);

AT(AllocationProperties, type, CUmemAllocationProp, type);
AT(AllocationProperties, handle_types, CUmemAllocationProp, requestedHandleTypes);
AT(AllocationProperties, location_type, CUmemAllocationProp, location.type);
AT(AllocationProperties, location_id, CUmemAllocationProp, location.id);
AT(AllocationProperties, gpu_direct_rdma_capable, CUmemAllocationProp,
   allocFlags.gpuDirectRDMACapable);
AT(AllocationProperties, usage, CUmemAllocationProp, allocFlags.usage);
static_assert(sizeof(softcuda::AllocationProperties) == sizeof(CUmemAllocationProp));

BEGINS(DriverLaunchConfig, grid, CUlaunchConfig, gridDimX);
BEGINS(DriverLaunchConfig, block, CUlaunchConfig, blockDimX);
AT(DriverLaunchConfig, shared_bytes, CUlaunchConfig, sharedMemBytes);
AT(DriverLaunchConfig, stream, CUlaunchConfig, hStream);
AT(RuntimeLaunchConfig, grid, cudaLaunchConfig_t, gridDim);
AT(RuntimeLaunchConfig, block, cudaLaunchConfig_t, blockDim);
AT(RuntimeLaunchConfig, shared_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
AT(RuntimeLaunchConfig, stream, cudaLaunchConfig_t, stream);
AT(PointerAttributes, type, cudaPointerAttributes, type);
AT(PointerAttributes, device, cudaPointerAttributes, device);
AT(PointerAttributes, device_pointer, cudaPointerAttributes, devicePointer);
AT(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
AT(FunctionAttributes, shared_bytes, cudaFuncAttributes, sharedSizeBytes);
AT(FunctionAttributes, local_bytes, cudaFuncAttributes, localSizeBytes);
AT(FunctionAttributes, max_threads_per_block, cudaFuncAttributes, maxThreadsPerBlock);
AT(FunctionAttributes, binary_version, cudaFuncAttributes, binaryVersion);
AT(FunctionAttributes, max_dynamic_shared_bytes, cudaFuncAttributes, maxDynamicSharedSizeBytes);
AT(DeviceProperties, name, cudaDeviceProp, name);
AT(DeviceProperties, uuid, cudaDeviceProp, uuid);
AT(DeviceProperties, luid, cudaDeviceProp, luid);
AT(DeviceProperties, luid_node_mask, cudaDeviceProp, luidDeviceNodeMask);
AT(DeviceProperties, total_memory, cudaDeviceProp, totalGlobalMem);
AT(DeviceProperties, shared_per_block, cudaDeviceProp, sharedMemPerBlock);
AT(DeviceProperties, registers_per_block, cudaDeviceProp, regsPerBlock);
AT(DeviceProperties, warp_size, cudaDeviceProp, warpSize);
AT(DeviceProperties, memory_pitch, cudaDeviceProp, memPitch);
AT(DeviceProperties, max_threads_per_block, cudaDeviceProp, maxThreadsPerBlock);
AT(DeviceProperties, max_threads_dim, cudaDeviceProp, maxThreadsDim);
AT(DeviceProperties, max_grid, cudaDeviceProp, maxGridSize);
// CUDA 13 has no clock rate here; what follows stays where it was.
AT(DeviceProperties, const_memory, cudaDeviceProp, totalConstMem);
AT(DeviceProperties, major, cudaDeviceProp, major);
AT(DeviceProperties, minor, cudaDeviceProp, minor);

#if CUDA_VERSION >= 13000
constexpr auto kPlaces = softcuda::kPropertyPlaces13;
#else
constexpr auto kPlaces = softcuda::kPropertyPlaces12;
#endif
// A member of cudaDeviceProp that has another place in each release.
#define PLACED(ours, theirs) \
  static_assert(kPlaces.ours == offsetof(cudaDeviceProp, theirs), #theirs)
static_assert(kPlaces.bytes == sizeof(cudaDeviceProp));
PLACED(multiprocessors, multiProcessorCount);
PLACED(concurrent_kernels, concurrentKernels);
PLACED(pci_bus, pciBusID);
PLACED(pci_device, pciDeviceID);
PLACED(pci_domain, pciDomainID);
PLACED(unified_addressing, unifiedAddressing);
PLACED(l2_cache, l2CacheSize);
PLACED(threads_per_multiprocessor, maxThreadsPerMultiProcessor);
PLACED(stream_priorities, streamPrioritiesSupported);
PLACED(shared_per_multiprocessor, sharedMemPerMultiprocessor);
PLACED(registers_per_multiprocessor, regsPerMultiprocessor);
PLACED(shared_per_block_optin, sharedMemPerBlockOptin);
