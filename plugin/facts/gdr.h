// GPUDirect RDMA: which of the two ways NCCL will find, and why not the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/sysfs.h"
#include "nccl_abi/releases.h"

namespace nnd::facts {

// The kernel's side, the same for every HCA. Which of the files NCCL takes for a sign of peermem
// differs by release (nccl_abi/releases.h).
struct PeerMemory {
  int nccl_version = 0;         // whose eyes these are; 0: the newest
  bool nv_mem = false;          // kernel/mm/memory_peers/nv_mem/version
  bool nv_mem_nc = false;       // kernel/mm/memory_peers/nv_mem_nc/version
  bool client = false;          // kernel/mm/memory_peers/nvidia-peermem/version
  bool nvidia_peermem = false;  // module/nvidia_peermem/version
  bool api = false;             // kernel/mm/memory_peers: ib_core knows peer memory clients
  std::string module_state;     // module/nvidia_peermem/initstate: "live", "coming", "going"
  // The module is there but not bound to ib_core: NCCL believes in it and registration fails.
  bool half_loaded = false;

  bool nccl_sees() const {
    return nv_mem || (client && nccl_abi::kSeesNvidiaPeermemClient.has(nccl_version)) ||
           (nv_mem_nc && nccl_abi::kSeesNvMemNc.has(nccl_version)) ||
           (nvidia_peermem && nccl_abi::kSeesPeermemModule.has(nccl_version));
  }
};

PeerMemory read_peer_memory(const FileTree& sysfs, int nccl_version);

enum class GdrWay : std::uint8_t { kUnknown, kNone, kPeermem, kDmabuf };

struct GdrState {
  GdrWay way = GdrWay::kUnknown;
  bool peermem = false;
  std::optional<bool> dmabuf;  // none: nobody asked the device
  int dmabuf_errno = 0;
  std::string why;
  bool gpu_lacks = false;  // no GPU of this process can do it: nothing that could be loaded or set
  // nvidia_peermem is loaded, where this NCCL doesn't look: another NCCL would see it.
  bool unseen_module = false;
};

struct GdrInput {
  bool nvidia_driver = false;
  std::optional<bool> open_driver;  // none: not told
  int kernel_major = 0;
  int kernel_minor = 0;
  std::optional<int> dmabuf_errno;
  // Of the GPUs that this process may use, as their driver says; none: it wasn't asked.
  std::optional<bool> gpu_rdma;
  std::optional<bool> gpu_dmabuf;
};

// DMA-BUF goes before peermem: NCCL prefers it where the GPU can do it as well.
GdrState judge_gdr(const PeerMemory& peer_memory, const GdrInput& input);

const char* gdr_way_text(GdrWay way);  // "peermem", "dmabuf", "none", "unknown"

}  // namespace nnd::facts
