// Our declarations against the toolkit's header, where there is one: its enumerators are read as
// text, nothing is compiled against it.
#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "softcuda/cuda_abi.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace softcuda;

TEST_CASE("constants are those of cuda.h") {
  std::ifstream header("/usr/local/cuda/include/cuda.h");
  if (!header) NND_SKIP("no /usr/local/cuda/include/cuda.h on this machine");
  std::map<std::string, long> numbers;
  const std::regex enumerator(R"(^\s*(CU\w+|CUDA_\w+)\s*=\s*(0x[0-9a-fA-F]+|[0-9]+)\b)");
  for (std::string line; std::getline(header, line);)
    if (std::smatch match; std::regex_search(line, match, enumerator))
      numbers.emplace(match[1], std::stol(match[2], nullptr, 0));
  const std::map<std::string, long> ours = {
      {"CUDA_SUCCESS", kSuccess},
      {"CUDA_ERROR_INVALID_VALUE", kInvalidValue},
      {"CUDA_ERROR_OUT_OF_MEMORY", kOutOfMemory},
      {"CUDA_ERROR_INVALID_DEVICE", kInvalidDevice},
      {"CUDA_ERROR_INVALID_HANDLE", kInvalidHandle},
      {"CUDA_ERROR_NOT_FOUND", kNotFound},
      {"CUDA_ERROR_NOT_READY", kNotReady},
      {"CUDA_ERROR_NOT_SUPPORTED", kNotSupported},
      {"CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK", kMaxThreadsPerBlock},
      {"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK", kMaxSharedMemoryPerBlock},
      {"CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT", kMultiprocessorCount},
      {"CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY", kCanMapHostMemory},
      {"CU_DEVICE_ATTRIBUTE_PCI_BUS_ID", kPciBusId},
      {"CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID", kPciDeviceId},
      {"CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING", kUnifiedAddressing},
      {"CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID", kPciDomainId},
      {"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", kComputeCapabilityMajor},
      {"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR", kComputeCapabilityMinor},
      {"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
       kMaxSharedMemoryPerMultiprocessor},
      {"CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM",
       kCanUseHostPointerForRegisteredMem},
      {"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", kMaxSharedMemoryPerBlockOptin},
      {"CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED", kHostRegisterSupported},
      {"CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED",
       kGpuDirectRdmaWithVmmSupported},
      {"CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED", kMemoryPoolsSupported},
      {"CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED", kGpuDirectRdmaSupported},
      {"CU_POINTER_ATTRIBUTE_MEMORY_TYPE", kPointerMemoryType},
      {"CU_POINTER_ATTRIBUTE_SYNC_MEMOPS", kPointerSyncMemops},
      {"CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL", kPointerDeviceOrdinal},
      {"CU_MEMORYTYPE_HOST", kMemoryHost},
      {"CU_MEMORYTYPE_DEVICE", kMemoryDevice},
      {"CU_STREAM_WAIT_VALUE_EQ", kStreamWaitValueEqual},
  };
  for (const auto& [name, value] : ours) {
    INFO(name);
    REQUIRE(numbers.count(name) == 1);
    CHECK(numbers.at(name) == value);
  }
}
