#include "record/tail.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "record/files.h"

namespace nnd::record {

std::uint64_t Tail::turn(Files& files) noexcept {
  current_ = 1 - current_;
  Half& half = halves_[current_];
  const std::uint64_t gone = half.lines;
  if (!half.tried) half.fd = files.open_tail(current_);
  half.tried = true;
  half.bytes = half.lines = 0;
  if (half.fd >= 0 && ::ftruncate(half.fd, 0) != 0) half.fd = -1;
  return gone;
}

bool Tail::write(Half& half, const char* from, std::size_t size) noexcept {
  for (std::size_t out = 0; half.fd >= 0 && out < size;) {
    const ssize_t n = ::write(half.fd, from + out, size - out);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {  // whole lines or none; where that fails too, no more is written here
      if (::ftruncate(half.fd, static_cast<off_t>(half.bytes)) != 0) half.fd = -1;
      return false;
    }
    out += static_cast<std::size_t>(n);
  }
  return half.fd >= 0;
}

std::uint64_t Tail::flush(Files& files, std::size_t count) noexcept {
  std::uint64_t gone = 0;
  for (std::size_t first = 0; first < count;) {
    const std::size_t begin = first == 0 ? 0 : waiting_.ends[first - 1];
    if (halves_[current_].bytes + waiting_.ends[first] - begin > half_bytes_ ||
        !halves_[current_].tried)
      gone += turn(files);
    Half& half = halves_[current_];
    // As many as there is room for.
    std::size_t behind = first + 1;
    while (behind < count && half.bytes + waiting_.ends[behind] - begin <= half_bytes_) ++behind;
    const std::size_t size = waiting_.ends[behind - 1] - begin;
    if (write(half, waiting_.text.data() + begin, size)) {
      half.bytes += size;
      half.lines += behind - first;
    } else {
      gone += behind - first;
    }
    first = behind;
  }
  waiting_.clear();
  return gone;
}

}  // namespace nnd::record
