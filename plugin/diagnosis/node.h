// What is odd about a node as a whole: too few HCAs, none, limits of the process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

struct TooFewPorts {
  long left = 0;
  long wanted = 0;
};
Diagnosis diagnose(const TooFewPorts& seen);

// No HCA is left, and the policy does not want TCP.
struct NoneLeft {};
Diagnosis diagnose(const NoneLeft& seen);

// A variable makes NCCL use TCP, and the policy does not want it.
struct TcpAsked {
  std::string variable;  // "NCCL_IB_DISABLE=1"
};
Diagnosis diagnose(const TcpAsked& seen);

// RDMA hardware is here, and NCCL can use none of it.
struct NoneUsable {
  std::size_t hcas = 0;        // that verbs shows
  std::size_t sysfs_hcas = 0;  // that sysfs shows
  std::size_t functions = 0;   // on the PCI bus
  std::string filter = {};     // NCCL_IB_HCA, where that alone leaves none
};
Diagnosis diagnose(const NoneUsable& seen);

// All HCAs have ports that are neither InfiniBand nor Ethernet, as EFA's are.
struct OtherKindOnly {
  std::size_t hcas = 0;
};
Diagnosis diagnose(const OtherKindOnly& seen);

struct LittleLockedMemory {
  std::uint64_t limit = 0;  // bytes
};
Diagnosis diagnose(const LittleLockedMemory& seen);

struct TooFewFiles {
  std::uint64_t limit = 0;
  long wanted = 0;
};
Diagnosis diagnose(const TooFewFiles& seen);

// GPUDirect is possible, and every GPU is beyond NCCL's limit.
// One of a node whose other GPUs have an HCA near enough.
struct FarGpu {
  std::string device;  // the nearest HCA: "mlx5_3"
  unsigned port = 1;
  std::string gpu;       // "0000:81:00.0"
  std::string distance;  // "SYS"
  std::size_t near = 0;  // GPUs that have one
};
Diagnosis diagnose(const FarGpu& seen);

struct FarGpus {
  std::string device;
  std::string nearest;   // "0000:81:00.0"
  std::string distance;  // "PHB"
};
Diagnosis diagnose(const FarGpus& seen);

}  // namespace nnd::diagnosis
