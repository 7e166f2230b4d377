#include "record/ring.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "nccl_net_diag/record_walk.h"

namespace nnd::record {

void Ring::attach(char* data, std::uint64_t size) noexcept {
  data_ = data;
  size_ = size;
}

bool Ring::acquire() noexcept {
  bool expected = false;
  return owned_.compare_exchange_strong(expected, true, std::memory_order_acquire,
                                        std::memory_order_relaxed);
}

void Ring::lock() noexcept {
  for (int spins = 0; locked_.exchange(true, std::memory_order_acquire); ++spins)
    if (spins > 64) ::sched_yield();  // the holder may have lost its core
}

void Ring::copy_in(std::uint64_t at, const void* from, std::size_t size) noexcept {
  const std::uint64_t place = at & (size_ - 1);
  const std::size_t first = std::min<std::uint64_t>(size, size_ - place);
  std::memcpy(data_ + place, from, first);
  if (first < size) std::memcpy(data_, static_cast<const char*>(from) + first, size - first);
}

void Ring::copy_out(std::uint64_t at, void* to, std::size_t size) const noexcept {
  const std::uint64_t place = at & (size_ - 1);
  const std::size_t first = std::min<std::uint64_t>(size, size_ - place);
  std::memcpy(to, data_ + place, first);
  if (first < size) std::memcpy(static_cast<char*>(to) + first, data_, size - first);
}

Ring::Put Ring::put(nccl_net_diag::EventId id, nccl_net_diag::Severity severity,
                    std::uint64_t mono_ns, std::uint32_t tid, std::string_view payload) noexcept {
  const std::uint64_t head = head_.load(std::memory_order_relaxed);
  const std::uint64_t used = head - tail_.load(std::memory_order_acquire);
  const std::uint64_t need = sizeof(box::RecordHeader) + box::padded_size(payload.size());
  // Warnings and errors find room when there is none for others.
  const std::uint64_t kept = severity == nccl_net_diag::Severity::kInfo ? size_ / 8 : 0;
  if (need + kept > size_ - used) {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return Put::kFull;
  }
  const std::uint32_t ordinal = ordinal_.load(std::memory_order_relaxed);
  box::RecordHeader header{};
  header.size = static_cast<std::uint32_t>(need);
  header.mono_ns = mono_ns;
  header.ordinal = ordinal;
  header.tid = tid;
  header.payload_size = static_cast<std::uint32_t>(payload.size());
  header.event = static_cast<std::uint16_t>(id);
  header.severity = static_cast<std::uint8_t>(severity);
  header.checksum = box::record_checksum(header, payload);
  copy_in(head, &header, sizeof(header));
  copy_in(head + sizeof(header), payload.data(), payload.size());
  ordinal_.store(ordinal + 1, std::memory_order_release);
  head_.store(head + need, std::memory_order_release);
  return used + need > size_ / 2 ? Put::kOverHalf : Put::kDone;
}

void Ring::free_to(std::uint64_t at) noexcept { tail_.store(at, std::memory_order_release); }

bool RingCursor::load() {
  if (loaded_) return true;
  const auto copy_out = [this](std::uint64_t at, void* to, std::size_t size) {
    ring_->copy_out(at, to, size);
  };
  if (!box::find_record(copy_out, mark_.at, limit_, header_, payload_, vain_)) return false;
  // Damaged records before it left a gap.
  mark_.damaged += header_.ordinal - mark_.ordinal;
  mark_.ordinal = header_.ordinal;
  return loaded_ = true;
}

void RingCursor::next() noexcept {
  mark_.at += header_.size;
  ++mark_.ordinal;
  loaded_ = false;
}

void RingCursor::commit(Mark mark) noexcept {
  if (mark.at != committed_.at) ring_->free_to(mark.at);
  committed_ = mark;
}

void RingCursor::rewind() noexcept {
  mark_ = committed_;
  loaded_ = false;
}

void RingCursor::settle() noexcept {
  if (mark_.at != ring_->head()) return;
  mark_.damaged += ring_->ordinal() - mark_.ordinal;
  mark_.ordinal = ring_->ordinal();
  commit(mark_);
}

}  // namespace nnd::record
