#include "facts/gdr.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace nnd::facts {

namespace {

bool kernel_before(const GdrInput& input, int major, int minor) {
  return input.kernel_major != 0 && (input.kernel_major < major ||
                                     (input.kernel_major == major && input.kernel_minor < minor));
}

bool gpu_exports_dmabuf(const GdrInput& input) {
  return input.gpu_dmabuf.value_or(input.open_driver.value_or(true));
}

std::string why_no_peermem(const PeerMemory& peer_memory) {
  if (peer_memory.half_loaded)
    return "nvidia_peermem is loaded but ib_core has no peer memory client of it";
  if (peer_memory.nvidia_peermem && !peer_memory.nccl_sees())
    return "nvidia_peermem is loaded, and this NCCL doesn't see it (2.23 and newer do)";
  return peer_memory.api ? "nvidia_peermem is not loaded"
                         : "nvidia_peermem is not loaded and ib_core has no peer memory interface";
}

}  // namespace

PeerMemory read_peer_memory(const FileTree& sysfs, int nccl_version) {
  PeerMemory out;
  out.nccl_version = nccl_version;
  out.client = sysfs.exists("kernel/mm/memory_peers/nvidia-peermem/version");
  out.nv_mem = sysfs.exists("kernel/mm/memory_peers/nv_mem/version");
  out.nv_mem_nc = sysfs.exists("kernel/mm/memory_peers/nv_mem_nc/version");
  out.nvidia_peermem = sysfs.exists("module/nvidia_peermem/version");
  out.api = out.nv_mem || out.nv_mem_nc || sysfs.exists("kernel/mm/memory_peers");
  const bool loaded = out.nvidia_peermem || sysfs.exists("module/nvidia_peermem");
  if (loaded) out.module_state = sysfs.read("module/nvidia_peermem/initstate", 64).text;
  out.half_loaded = loaded && ((!out.nv_mem && !out.nv_mem_nc && !out.client) ||
                               (!out.module_state.empty() && out.module_state != "live"));
  return out;
}

GdrState judge_gdr(const PeerMemory& peer_memory, const GdrInput& input) {
  GdrState out;
  out.peermem = peer_memory.nccl_sees();
  out.unseen_module = peer_memory.nvidia_peermem && !out.peermem;
  std::string no_dmabuf;
  if (input.dmabuf_errno) {
    out.dmabuf_errno = *input.dmabuf_errno;
    out.dmabuf = out.dmabuf_errno != EOPNOTSUPP && out.dmabuf_errno != EPROTONOSUPPORT;
    no_dmabuf =
        fmt::format("the HCA's driver has no DMA-BUF ({})", std::strerror(out.dmabuf_errno));
  }
  if (kernel_before(input, 5, 12)) {
    out.dmabuf = false;
    no_dmabuf = fmt::format("kernel {}.{} has no RDMA DMA-BUF (5.12 has)", input.kernel_major,
                            input.kernel_minor);
  } else if (input.nvidia_driver && !gpu_exports_dmabuf(input) && out.dmabuf.value_or(true)) {
    // The HCA could.
    out.dmabuf = false;
    no_dmabuf = input.gpu_dmabuf ? "the GPU driver says that it exports no DMA-BUF"
                                 : "the GPU driver is the closed one, which exports no DMA-BUF";
  }

  // As NCCL asks (ncclGpuGdrSupport, v2.28.9-1 src/plugin/net.cc).
  if (!input.gpu_rdma.value_or(true)) {
    out.gpu_lacks = true;
    out.way = GdrWay::kNone;
    out.why = "the GPU driver says that these GPUs can't do GPUDirect RDMA";
  } else if (out.dmabuf.value_or(false) && input.nvidia_driver) {
    out.way = GdrWay::kDmabuf;
    out.why = "the HCA's driver takes DMA-BUF";
  } else if (out.peermem) {
    out.way = GdrWay::kPeermem;
    out.why = peer_memory.half_loaded ? why_no_peermem(peer_memory) + "; NCCL will still try it"
                                      : "nvidia_peermem is bound to ib_core";
  } else if (!input.nvidia_driver) {
    out.way = GdrWay::kNone;
    out.why = "no NVIDIA driver is loaded here";
  } else if (out.dmabuf.has_value()) {
    out.way = GdrWay::kNone;
    out.why = why_no_peermem(peer_memory) + "; " + no_dmabuf;
  } else {
    out.why = why_no_peermem(peer_memory) + "; DMA-BUF was not asked for";
  }
  return out;
}

const char* gdr_way_text(GdrWay way) {
  switch (way) {
    case GdrWay::kNone:
      return "none";
    case GdrWay::kPeermem:
      return "peermem";
    case GdrWay::kDmabuf:
      return "dmabuf";
    case GdrWay::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace nnd::facts
