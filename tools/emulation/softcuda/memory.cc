#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "gpu.h"

namespace softcuda {
namespace {

struct Blocks {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> by_base;
};

Blocks& blocks() {
  static auto& instance = *new Blocks;  // outlives every stream thread
  return instance;
}

std::uintptr_t key(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

std::size_t mapped_bytes(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
}

// A stretch of the shared file that was never used; what is released leaves a hole.
off_t next_offset(std::size_t bytes) {
  static std::atomic<off_t> end = 0;
  return end.fetch_add(static_cast<off_t>(mapped_bytes(bytes)));
}

bool make_hole(off_t offset, std::size_t bytes) {
  return fallocate(shared_memory_file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                   static_cast<off_t>(mapped_bytes(bytes))) == 0;
}

}  // namespace

int shared_memory_file() {
  static const int file = [] {
    constexpr off_t kAll = off_t{1} << 42;  // holes; never more than what is written
    const int made = have_nvswitch() ? memfd_create("softcuda", MFD_CLOEXEC) : -1;
    return made >= 0 && ftruncate(made, kAll) == 0 ? made : -1;
  }();
  return file;
}

Error allocate(void** out, std::size_t bytes, MemoryKind kind) {
  const int file = kind == MemoryKind::kDevice ? shared_memory_file() : -1;
  const off_t offset = file < 0 ? -1 : next_offset(bytes);
  void* base =
      mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE,
           file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, file < 0 ? 0 : offset);
  if (base == MAP_FAILED) return kOutOfMemory;
  auto& all = blocks();
  const std::lock_guard lock(all.mutex);
  all.by_base[key(base)] = {base, bytes, kind, current_gpu(), true, offset};
  *out = base;
  return kSuccess;
}

Error release(void* base) {
  if (base == nullptr) return kSuccess;
  auto& all = blocks();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_base.find(key(base));
  if (found == all.by_base.end()) return kInvalidValue;
  if (found->second.kind == MemoryKind::kDevice || found->second.kind == MemoryKind::kPinned)
    munmap(base, mapped_bytes(found->second.bytes));
  if (found->second.offset >= 0) make_hole(found->second.offset, found->second.bytes);
  all.by_base.erase(found);
  return kSuccess;
}

void zero(void* to, std::size_t bytes) {
  {
    auto& all = blocks();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_base.find(key(to));
    if (found != all.by_base.end() && std::exchange(found->second.untouched, false) &&
        found->second.bytes == bytes &&
        (found->second.offset >= 0 ? make_hole(found->second.offset, bytes)
                                   : madvise(to, mapped_bytes(bytes), MADV_DONTNEED) == 0))
      return;
  }
  std::memset(to, 0, bytes);
}

Error register_memory(void* base, std::size_t bytes, MemoryKind kind) {
  auto& all = blocks();
  const std::lock_guard lock(all.mutex);
  all.by_base[key(base)] = {base, bytes, kind, current_gpu()};
  return kSuccess;
}

std::size_t device_bytes(int gpu) {
  auto& all = blocks();
  const std::lock_guard lock(all.mutex);
  std::size_t bytes = 0;
  for (const auto& [base, allocation] : all.by_base)
    if (allocation.gpu == gpu && allocation.kind == MemoryKind::kDevice) bytes += allocation.bytes;
  return bytes;
}

std::optional<Allocation> find_allocation(const void* address) {
  auto& all = blocks();
  const std::lock_guard lock(all.mutex);
  auto after = all.by_base.upper_bound(key(address));
  if (after == all.by_base.begin()) return std::nullopt;
  const Allocation& found = std::prev(after)->second;
  if (key(address) >= key(found.base) + std::max<std::size_t>(found.bytes, 1)) return std::nullopt;
  return found;
}

}  // namespace softcuda
