// How it is told what keeps NCCL's processes from their work inside one node. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"

namespace nnd::cli {

struct LittleSharedMemory {
  std::uint64_t bytes = 0, free = 0;  // of /dev/shm
  std::uint64_t each = 0;             // that NCCL takes for a rank that uses the network
  std::size_t gpus = 0;               // that may have a rank each
};
diagnosis::Diagnosis diagnose(const LittleSharedMemory& seen);

struct FewCpus {
  double usable = 0;  // CPUs' worth of time
  std::size_t all = 0;
  std::string by;  // "its affinity"
};
diagnosis::Diagnosis diagnose(const FewCpus& seen);

struct FewThreads {
  std::uint64_t used = 0, limit = 0;
  std::string by;  // "ulimit -u", "/sys/fs/cgroup/pids.max"
};
diagnosis::Diagnosis diagnose(const FewThreads& seen);

struct NoFabricManager {
  std::size_t nvswitches = 0;
};
diagnosis::Diagnosis diagnose(const NoFabricManager& seen);

struct RedirectingBridges {
  std::vector<std::string> bridges;  // "0000:4a:01.0"
};
diagnosis::Diagnosis diagnose(const RedirectingBridges& seen);

struct MoreRanksThanGpus {
  std::string launcher;  // "torchrun"
  std::size_t ranks = 0, gpus = 0;
  std::string among;  // "CUDA_VISIBLE_DEVICES=0,1"; empty: the node's
};
diagnosis::Diagnosis diagnose(const MoreRanksThanGpus& seen);

struct MeshProxy {
  std::string mesh;  // "Istio"
  std::vector<unsigned> ports;
};
diagnosis::Diagnosis diagnose(const MeshProxy& seen);

}  // namespace nnd::cli
