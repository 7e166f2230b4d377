#include "record/box.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

#include "context/clock.h"
#include "record/memory_room.h"

namespace nnd::record {

namespace {

constexpr std::uint64_t kRingsOffset = 4096;
constexpr std::uint64_t kRingStride = sizeof(box::RingHeader) + Box::kRingSize;
constexpr std::uint64_t kCommsOffset = kRingsOffset + Box::kRings * kRingStride;
constexpr std::uint64_t kConnsOffset = kCommsOffset + Box::kComms * sizeof(box::CommSlot);
constexpr std::uint64_t kAwaitedOffset = offsetof(box::FileHeader, awaited);
constexpr std::uint64_t kLatecomerOffset = offsetof(box::FileHeader, latecomer);
static_assert(sizeof(box::FileHeader) <= kRingsOffset);

// The file grows by so many places.
constexpr std::size_t kStep = 256;
constexpr std::size_t kMostPlaces = 262144;
constexpr std::size_t kCommStep = 64;
constexpr std::size_t kRingsAtOnce = 4;  // a thread may speak first when the disk is full
static_assert(Box::kComms % kCommStep == 0);

// Blocks for a part of the file, or its size alone where the file system can't reserve any. 0 or an
// errno.
int allocate(int fd, std::uint64_t offset, std::size_t size, bool* reserved) noexcept {
  // Past this limit the kernel would not only fail but send SIGXFSZ, which ends the process.
  const std::uint64_t end = offset + size;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < end) return EFBIG;
  // Allocating a tmpfs file past the limit of the memory cgroup would not fail: the kernel would
  // kill the job for it. A disk's file is cache, which the kernel takes back instead.
  try {
    if (in_memory_file(fd) && cgroup_room() < size + Box::kMemoryLeft) return ENOMEM;
  } catch (...) {
    return ENOMEM;
  }
  // Not posix_fallocate(): where the file system can't do it, that writes to each block in turn,
  // which takes seconds on a network's file system.
  int error = 0;
  do
    error =
        ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0 ? 0 : errno;
  while (error == EINTR);
  if (error != EOPNOTSUPP && error != ENOSYS) return error;
  // NFSv3, older Lustre: the blocks come as they are written, or don't where the disk is full then.
  *reserved = false;
  struct stat s {};
  if (::fstat(fd, &s) != 0) return errno;
  if (static_cast<std::uint64_t>(s.st_size) >= end) return 0;
  return ::ftruncate(fd, static_cast<off_t>(end)) == 0 ? 0 : errno;
}

void copy_text(char* to, std::size_t room, std::string_view text) {
  const std::size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

}  // namespace

std::size_t Box::bytes() noexcept {
  return kRingsOffset + kRingsAtOnce * kRingStride + kCommStep * sizeof(box::CommSlot) +
         kStep * sizeof(box::ConnSlot);
}

Box::Box() : comms_(kCommsOffset), conns_(kConnsOffset) {}

void Box::write(std::uint64_t offset, const void* from, std::size_t size) noexcept {
  const char* at = static_cast<const char*>(from);
  while (size != 0) {
    const ssize_t out = ::pwrite(fd_, at, size, static_cast<off_t>(offset));
    if (out < 0 && errno == EINTR) continue;
    if (out <= 0) return;  // what is there is checked when it is read
    at += out;
    written_ += static_cast<std::uint64_t>(out);
    offset += static_cast<std::uint64_t>(out);
    size -= static_cast<std::size_t>(out);
  }
}

// The blocks, and the memory for what is to be in them.
int Box::allocate_places(std::size_t places) noexcept {
  const std::size_t there = conns_.size();
  if (const int error = allocate(fd_, kConnsOffset + there * sizeof(box::ConnSlot),
                                 (places - there) * sizeof(box::ConnSlot), &reserved_);
      error != 0)
    return error;
  try {
    looks_.resize(places);
    conns_.grow(places);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  header_.conn_count = places;
  return 0;
}

int Box::allocate_comms(std::size_t places) noexcept {
  const std::size_t there = comms_.size();
  if (const int error = allocate(fd_, kCommsOffset + there * sizeof(box::CommSlot),
                                 (places - there) * sizeof(box::CommSlot), &reserved_);
      error != 0)
    return error;
  try {
    comms_.grow(places);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  return 0;
}

std::size_t Box::make_comm_places(std::size_t wanted) noexcept {
  if (wanted > comms_.size())
    allocate_comms(std::min<std::size_t>((wanted + kCommStep - 1) / kCommStep * kCommStep, kComms));
  return comms_.size();
}

int Box::open(int fd) noexcept {
  fd_ = fd;
  int error = allocate_comms(kCommStep);
  if (error == 0) error = allocate_places(kStep);
  if (error == 0) error = allocate(fd, 0, kRingsOffset + kRingsAtOnce * kRingStride, &reserved_);
  std::fill_n(room_.begin(), kRingsAtOnce, Room::kThere);
  if (error != 0) fd_ = -1;
  return error;
}

std::size_t Box::make_places(std::size_t wanted) noexcept {
  if (wanted > conns_.size() && !full_)
    full_ = allocate_places(std::min((wanted + kStep - 1) / kStep * kStep, kMostPlaces)) != 0;
  return std::min(wanted, conns_.size());
}

void Box::describe(std::uint64_t proc_id, std::string_view host,
                   std::string_view log_path) noexcept {
  box::FileHeader& h = header_;
  std::memcpy(h.magic, box::kMagic, sizeof(h.magic));
  h.version = box::kVersion;
  h.byte_order = box::kByteOrder;
  h.rings_offset = kRingsOffset;
  h.ring_stride = kRingStride;
  h.ring_size = kRingSize;
  h.ring_count = kRings;
  h.ring_header_size = sizeof(box::RingHeader);
  h.conns_offset = kConnsOffset;
  h.conn_count = conns_.size();
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
  if (is_open()) write(0, &h, offsetof(box::FileHeader, alive_mono_ns));
}

void Box::make_room(std::uint32_t index) noexcept {
  if (room_[index] != Room::kNotAsked) return;
  const int error = allocate(fd_, kRingsOffset + index * kRingStride, kRingStride, &reserved_);
  room_[index] = error == 0 ? Room::kThere : Room::kNone;
}

void Box::put(std::uint32_t index, const Ring& ring) noexcept {
  if (ring.head() == 0) return;
  make_room(index);
  if (room_[index] == Room::kNone) return;
  box::RingHeader& told = rings_[index];
  const std::uint64_t tail = ring.tail(), head = ring.head(), dropped = ring.dropped();
  const bool same = head == tail ? told.head == told.tail : head == told.head && tail == told.tail;
  if (same && told.dropped == dropped) return;
  const std::uint64_t at_header = kRingsOffset + index * kRingStride;
  char part[4096];
  for (std::uint64_t at = std::max(tail, told.head); at < head;) {
    const std::uint64_t place = at % kRingSize;
    const std::size_t size = std::min({sizeof(part), head - at, kRingSize - place});
    ring.copy_out(at, part, size);
    write(at_header + sizeof(box::RingHeader) + place, part, size);
    at += size;
  }
  told.head = head;
  told.tail = tail;
  told.dropped = dropped;
  write(at_header, &told, sizeof(told));
}

void Box::flush() noexcept {
  const auto write_part = [this](std::uint64_t offset, const void* from, std::size_t size) {
    write(offset, from, size);
  };
  comms_.flush(write_part);
  conns_.flush(write_part);
  constexpr std::size_t kLive = offsetof(box::FileHeader, alive_mono_ns);
  write(kLive, reinterpret_cast<const char*>(&header_) + kLive, kAwaitedOffset - kLive);
}

void Box::set_awaited(const box::AwaitedSlot& slot) noexcept {
  if (std::memcmp(&header_.awaited, &slot, sizeof(slot)) == 0) return;
  header_.awaited = slot;
  write(kAwaitedOffset, &slot, sizeof(slot));
}

void Box::set_latecomer(const box::LatecomerSlot& slot) noexcept {
  if (std::memcmp(&header_.latecomer, &slot, sizeof(slot)) == 0) return;
  header_.latecomer = slot;
  write(kLatecomerOffset, &slot, sizeof(slot));
}

}  // namespace nnd::record
