#include "softverbs/verbs/stream.h"

#include <errno.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "softverbs/verbs/dma.h"

namespace softverbs {

namespace {

constexpr std::size_t kOrderedLimit = 4096;
constexpr int kPlacesPerRead = 8;
char discarded[65536];  // contents never looked at

}  // namespace

void copy_in_order(char* to, const char* from, std::size_t size) {
  const Dma dma;
  if (size > kOrderedLimit) {
    std::memcpy(to, from, size);
    return;
  }
  while (size >= sizeof(std::uint64_t) && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
    to += sizeof word;
    from += sizeof word;
    size -= sizeof word;
  }
  for (; size > 0; --size) __atomic_store_n(to++, *from++, __ATOMIC_RELEASE);
}

StreamReader::StreamReader() : buffer_(kBuffer) {}

void StreamReader::reset() {
  begin_ = end_ = 0;
  places_.clear();
  next_ = 0;
}

const char* StreamReader::head(std::size_t size) {
  if (payload_pending() || end_ - begin_ < size) return nullptr;
  return buffer_.data() + begin_;
}

void StreamReader::expect(std::vector<iovec> places) {
  places_ = std::move(places);
  next_ = 0;
  advance(0);
  place_buffered();
}

// Marks bytes of the expected places as done.
void StreamReader::advance(std::size_t bytes) {
  while (next_ < places_.size()) {
    iovec& place = places_[next_];
    const std::size_t step = std::min(bytes, place.iov_len);
    place.iov_len -= step;
    if (place.iov_base) place.iov_base = static_cast<char*>(place.iov_base) + step;
    bytes -= step;
    if (place.iov_len > 0) return;
    ++next_;
  }
}

void StreamReader::place_buffered() {
  while (payload_pending() && begin_ < end_) {
    const iovec& place = places_[next_];
    const std::size_t step = std::min(end_ - begin_, place.iov_len);
    if (place.iov_base)
      copy_in_order(static_cast<char*>(place.iov_base), buffer_.data() + begin_, step);
    begin_ += step;
    advance(step);
  }
}

StreamReader::Status StreamReader::fill(int fd) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (!payload_pending()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  iovec places[kPlacesPerRead + 1];
  int count = 0;
  std::size_t direct = 0;
  bool all = true;
  for (std::size_t i = next_; i < places_.size(); ++i) {
    if (count == kPlacesPerRead) {
      all = false;
      break;
    }
    iovec place = places_[i];
    if (!place.iov_base) {
      all = place.iov_len <= sizeof discarded;
      place = {discarded, std::min(place.iov_len, sizeof discarded)};
    }
    places[count++] = place;
    direct += place.iov_len;
    if (!all) break;
  }
  if (all) places[count++] = {buffer_.data() + end_, buffer_.size() - end_};
  ssize_t got = 0;
  {
    const Dma dma;
    got = ::readv(fd, places, count);
  }
  if (got == 0) return Status::kClosed;
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Status::kWait : Status::kClosed;
  const auto bytes = static_cast<std::size_t>(got);
  advance(std::min(bytes, direct));
  if (bytes > direct) end_ += bytes - direct;
  return Status::kMore;
}

}  // namespace softverbs
