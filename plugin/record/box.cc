#include "record/box.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "context/clock.h"
#include "record/sigbus.h"

namespace nnd::record {

namespace {

constexpr std::uint64_t kRingsOffset = 4096;
constexpr std::uint64_t kRingStride = sizeof(box::RingHeader) + Box::kRingSize;
constexpr std::uint64_t kConnsOffset = kRingsOffset + Box::kRings * kRingStride;
constexpr std::uint64_t kBytes = kConnsOffset + Box::kConns * sizeof(box::ConnSlot);
static_assert(sizeof(box::FileHeader) <= kRingsOffset);

void copy_text(char* to, std::size_t room, std::string_view text) {
  const std::size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

}  // namespace

std::size_t Box::bytes() noexcept { return kBytes; }

int Box::map_file(int fd) noexcept {
  // Past this limit the kernel would not only fail but send SIGXFSZ, which ends the process.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kBytes) return EFBIG;
  // Not posix_fallocate(): where the file system can't do it, that writes to each block in turn,
  // which takes seconds on a network's file system.
  int error = 0;
  do error = ::fallocate(fd, 0, 0, static_cast<off_t>(kBytes)) == 0 ? 0 : errno;
  while (error == EINTR);
  if (error != 0) return error;
  void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return errno;
  if (!sigbus::watch(at, kBytes)) {
    ::munmap(at, kBytes);
    return EBUSY;
  }
  base_ = static_cast<char*>(at);
  file_backed_ = true;
  return 0;
}

int Box::map_anonymous() noexcept {
  void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return errno;
  base_ = static_cast<char*>(at);
  return 0;
}

void Box::abandon() noexcept {
  if (!file_backed_) return;
  const void* at = ::mmap(base_, kBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED) return;  // it stays mapped, and watched
  sigbus::unwatch();
  file_backed_ = false;
}

void Box::unmap() noexcept {
  if (!file_backed_) return;
  ::munmap(base_, kBytes);
  file_backed_ = false;
}

void Box::describe(std::uint64_t proc_id, std::string_view host,
                   std::string_view log_path) noexcept {
  box::FileHeader& h = header();
  std::memcpy(h.magic, box::kMagic, sizeof(h.magic));
  h.version = box::kVersion;
  h.byte_order = box::kByteOrder;
  h.file_size = kBytes;
  h.rings_offset = kRingsOffset;
  h.ring_stride = kRingStride;
  h.ring_size = kRingSize;
  h.ring_count = kRings;
  h.ring_header_size = sizeof(box::RingHeader);
  h.conns_offset = kConnsOffset;
  h.conn_count = kConns;
  h.conn_size = sizeof(box::ConnSlot);
  h.record_header_size = sizeof(box::RecordHeader);
  h.pid = static_cast<std::uint32_t>(::getpid());
  h.proc_id = proc_id;
  h.start_mono_ns = context::mono_ns();
  h.start_real_ns = context::now_ns(CLOCK_REALTIME);
  copy_text(h.host, sizeof(h.host), host);
  copy_text(h.log_path, sizeof(h.log_path), log_path);
  h.checksum = box::Checksum().add(&h, offsetof(box::FileHeader, checksum)).value();
}

box::RingHeader* Box::ring(std::uint32_t index) const noexcept {
  return reinterpret_cast<box::RingHeader*>(base_ + kRingsOffset + index * kRingStride);
}

char* Box::ring_data(std::uint32_t index) const noexcept {
  return reinterpret_cast<char*>(ring(index) + 1);
}

box::ConnSlot* Box::conn(std::uint32_t index) const noexcept {
  return reinterpret_cast<box::ConnSlot*>(base_ + kConnsOffset) + index;
}

}  // namespace nnd::record
