// Verbs that found no memory, and memory that could not be registered.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

// How much memory this process may lock.
struct LockedMemory {
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
  bool known = false;
  std::uint64_t limit = 0;    // bytes
  bool may_lock_any = false;  // CAP_IPC_LOCK

  bool binds() const { return known && limit != kUnlimited && !may_lock_any; }
};

// ENOMEM of a verb that creates or registers something: the limit on locked memory where that is in
// force, else limits of the device or the host.
Cause out_of_memory(const LockedMemory& locked) noexcept;

struct FailedCreation {
  std::string device;
  int error = 0;
  LockedMemory locked;
};
Diagnosis diagnose(const FailedCreation& seen);  // of a QP

enum class MemoryKind : std::uint8_t { kHost, kPeermem, kDmabuf };
const char* memory_kind_text(MemoryKind kind) noexcept;  // "host", "peermem", "dmabuf"

// The first GPU memory that this device was given.
struct GpuMemoryWay {
  std::string device;
  MemoryKind kind = MemoryKind::kPeermem;
};
Diagnosis diagnose(const GpuMemoryWay& seen);

struct FailedRegistration {
  std::string device;
  std::string verb;
  MemoryKind kind = MemoryKind::kHost;
  std::uint64_t bytes = 0;
  int error = 0;
  LockedMemory locked;
  // What the GPU's driver says of it, where it could be asked.
  enum class Driver : std::uint8_t {
    kSilent,
    kHost,
    kGpu,
    kManaged,   // moves between host and GPU
    kIncapable  // of a GPU, and made without GPUDirect RDMA
  } driver = Driver::kSilent;
};
Diagnosis diagnose(const FailedRegistration& seen);

}  // namespace nnd::diagnosis
