#include "diagnosis/memory.h"

#include <cerrno>

#include "diagnosis/verb_causes.h"

namespace nnd::diagnosis {

namespace {

std::string limit_clause(const LockedMemory& locked) {
  return "; the locked memory limit is " + std::to_string(locked.limit) +
         " bytes and the process has no CAP_IPC_LOCK";
}

using Driver = FailedRegistration::Driver;

std::string what_driver_says(Driver driver) {
  switch (driver) {
    case Driver::kHost:
      return "; the GPU's driver says that it is memory of the host";
    case Driver::kGpu:
      return "; the GPU's driver says that it is a GPU's memory";
    case Driver::kManaged:
      return "; the GPU's driver says that it is managed memory";
    case Driver::kIncapable:
      return "; the GPU's driver says that it was made without GPUDirect RDMA";
    case Driver::kSilent:
      break;
  }
  return {};
}

}  // namespace

Cause out_of_memory(const LockedMemory& locked) noexcept {
  return locked.binds() ? Cause::kLimMemlock : Cause::kLimMemlock2;
}

Diagnosis diagnose(const FailedCreation& seen) {
  const Cause cause = verb_cause("ibv_create_qp", seen.error, seen.locked);
  std::string sentence =
      seen.device + ": a QP could not be created: errno " + errno_text(seen.error);
  if (cause == Cause::kLimMemlock) sentence += limit_clause(seen.locked);
  const bool known = seen.error == ENOMEM || any_verb(cause);
  return known ? by_default(cause, sentence + '.') : ask_the_driver(cause, sentence + '.');
}

const char* memory_kind_text(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::kPeermem:
      return "peermem";
    case MemoryKind::kDmabuf:
      return "dmabuf";
    case MemoryKind::kHost:
      break;
  }
  return "host";
}

Diagnosis diagnose(const GpuMemoryWay& seen) {
  return by_default(Cause::kGdrPeermemVsDmabuf,
                    seen.device + " reaches this process's GPU memory by " +
                        (seen.kind == MemoryKind::kDmabuf ? "DMA-BUF." : "peermem."));
}

Diagnosis diagnose(const FailedRegistration& seen) {
  std::string sentence = seen.device + ": registering " + std::to_string(seen.bytes) +
                         " bytes of " + memory_kind_text(seen.kind) + " memory failed in " +
                         seen.verb + ": errno " + errno_text(seen.error);
  sentence += what_driver_says(seen.driver);
  const bool as_host = seen.kind == MemoryKind::kHost;
  const bool is_host = seen.driver == Driver::kSilent || seen.driver == Driver::kHost;
  if (as_host && !is_host)
    return {Cause::kGdrRegFail, sentence + '.',
            "It was to be registered as memory of the host. Whoever calls NCCL's transport has to "
            "say that it is a GPU's (NCCL_PTR_CUDA)."};
  if (seen.driver == Driver::kManaged)
    return {Cause::kGdrRegFail, sentence + '.',
            "No HCA reaches managed memory directly. Give NCCL memory of cudaMalloc or "
            "ncclMemAlloc."};
  if (seen.driver == Driver::kIncapable)
    return {Cause::kGdrRegFail, sentence + '.',
            "Memory made with cuMemCreate needs allocFlags.gpuDirectRDMACapable=1 for that. Use "
            "ncclMemAlloc, which sets it, or cudaMalloc."};
  if (seen.kind == MemoryKind::kPeermem)
    return {Cause::kGdrRegFail, sentence + '.',
            "GPU memory was to be registered through nvidia-peermem. Reload that module after the "
            "GPU and RDMA drivers, or use DMA-BUF (open GPU kernel modules)."};
  if (seen.kind == MemoryKind::kDmabuf)
    return {Cause::kGdrRegFail, sentence + '.',
            "GPU memory was to be registered as DMA-BUF. Check that this HCA's driver supports it, "
            "or set NCCL_DMABUF_ENABLE=0 to use nvidia-peermem."};
  const Cause cause = verb_cause(seen.verb, seen.error, seen.locked);
  if (cause == Cause::kLimMemlock) sentence += limit_clause(seen.locked);
  return by_default(cause, sentence + '.');
}

}  // namespace nnd::diagnosis
