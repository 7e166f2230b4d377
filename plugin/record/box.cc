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
#include "record/memory_room.h"
#include "record/sigbus.h"

namespace nnd::record {

namespace {

constexpr std::uint64_t kRingsOffset = 4096;
constexpr std::uint64_t kRingStride = sizeof(box::RingHeader) + Box::kRingSize;
constexpr std::uint64_t kCommsOffset = kRingsOffset + Box::kRings * kRingStride;
constexpr std::uint64_t kConnsOffset = kCommsOffset + Box::kComms * sizeof(box::CommSlot);
static_assert(sizeof(box::FileHeader) <= kRingsOffset);

// The file grows by so many places.
constexpr std::size_t kStep = 256;
constexpr std::size_t kMostPlaces = 262144;
constexpr std::size_t kMostBytes = kConnsOffset + kMostPlaces * sizeof(box::ConnSlot);

// Blocks for the file's first `bytes`. 0 or an errno.
int allocate(int fd, std::size_t bytes, std::size_t more) noexcept {
  // Past this limit the kernel would not only fail but send SIGXFSZ, which ends the process.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return EFBIG;
  // Allocating a tmpfs file past the limit of the memory cgroup would not fail: the kernel would
  // kill the job for it. A disk's file is cache, which the kernel takes back instead.
  try {
    if (in_memory_file(fd) && cgroup_room() < 2 * more) return ENOMEM;
  } catch (...) {
    return ENOMEM;
  }
  // Not posix_fallocate(): where the file system can't do it, that writes to each block in turn,
  // which takes seconds on a network's file system.
  int error = 0;
  do error = ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  while (error == EINTR);
  return error;
}

std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

void copy_text(char* to, std::size_t room, std::string_view text) {
  const std::size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

}  // namespace

std::size_t Box::bytes() noexcept { return kConnsOffset; }

// Maps the file from where it ends now; its last page anew, since it has grown.
int Box::map_up_to(std::size_t bytes) noexcept {
  if (const int error = allocate(fd_, bytes, bytes - mapped_); error != 0) return error;
  const std::size_t from = mapped_ / page_size() * page_size();
  const void* const at = ::mmap(base_ + from, bytes - from, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(from));
  if (at == MAP_FAILED) return errno;
  mapped_ = bytes;
  return 0;
}

int Box::map_file(int fd) noexcept {
  void* const range =
      ::mmap(nullptr, kMostBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return errno;
  base_ = static_cast<char*>(range);
  fd_ = fd;
  int error = map_up_to(kConnsOffset + kStep * sizeof(box::ConnSlot));
  if (error == 0 && !sigbus::watch(base_, kMostBytes)) error = EBUSY;
  if (error != 0) {
    ::munmap(range, kMostBytes);
    base_ = nullptr;
    mapped_ = 0;
    return error;
  }
  places_ = kStep;
  file_backed_ = true;
  return 0;
}

std::size_t Box::make_places(std::size_t wanted) noexcept {
  if (!file_backed_) return 0;
  if (wanted > places_ && !full_) {
    const std::size_t places = std::min((wanted + kStep - 1) / kStep * kStep, kMostPlaces);
    full_ = map_up_to(kConnsOffset + places * sizeof(box::ConnSlot)) != 0;
    if (!full_) places_ = places;
    header().conn_count = places_;
  }
  return std::min(wanted, places_);
}

int Box::map_anonymous() noexcept {
  void* at = ::mmap(nullptr, kConnsOffset, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return errno;
  base_ = static_cast<char*>(at);
  return 0;
}

void Box::abandon() noexcept {
  if (!file_backed_) return;
  const void* at = ::mmap(base_, mapped_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED) return;  // it stays mapped, and watched
  sigbus::unwatch();
  file_backed_ = false;
}

void Box::unmap() noexcept {
  if (!file_backed_) return;
  ::munmap(base_, kMostBytes);
  file_backed_ = false;
}

void Box::describe(std::uint64_t proc_id, std::string_view host,
                   std::string_view log_path) noexcept {
  box::FileHeader& h = header();
  std::memcpy(h.magic, box::kMagic, sizeof(h.magic));
  h.version = box::kVersion;
  h.byte_order = box::kByteOrder;
  h.rings_offset = kRingsOffset;
  h.ring_stride = kRingStride;
  h.ring_size = kRingSize;
  h.ring_count = kRings;
  h.ring_header_size = sizeof(box::RingHeader);
  h.conns_offset = kConnsOffset;
  h.conn_count = places_;
  h.conn_size = sizeof(box::ConnSlot);
  h.record_header_size = sizeof(box::RecordHeader);
  h.pid = static_cast<std::uint32_t>(::getpid());
  h.comm_count = kComms;
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

box::CommSlot* Box::comm(std::size_t place) const noexcept {
  return reinterpret_cast<box::CommSlot*>(base_ + kCommsOffset) + place;
}

box::ConnSlot* Box::conn(std::size_t place) const noexcept {
  return reinterpret_cast<box::ConnSlot*>(base_ + kConnsOffset) + place;
}

}  // namespace nnd::record
