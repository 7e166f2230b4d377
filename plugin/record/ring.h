// One ring of records (layout: nccl_net_diag/black_box.h), in anonymous memory. One producer at a
// time, one consumer: the drain.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "nccl_net_diag/black_box.h"
#include "nccl_net_diag/events.h"
#include "nccl_net_diag/record_walk.h"

namespace nnd::record {

namespace box = nccl_net_diag::box;

class Ring {
 public:
  enum class Put : std::uint8_t { kDone, kOverHalf, kFull };

  // The `size` bytes (a power of two) stay with the caller.
  void attach(char* data, std::uint64_t size) noexcept;

  // A thread owns a ring from acquire() to release(); several may share one through lock().
  bool acquire() noexcept;
  void release() noexcept { owned_.store(false, std::memory_order_release); }
  bool owned() const noexcept { return owned_.load(std::memory_order_relaxed); }
  void lock() noexcept;
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

  Put put(nccl_net_diag::EventId id, nccl_net_diag::Severity severity, std::uint64_t mono_ns,
          std::uint32_t tid, std::string_view payload) noexcept;

  std::uint64_t head() const noexcept { return head_.load(std::memory_order_acquire); }
  std::uint64_t tail() const noexcept { return tail_.load(std::memory_order_acquire); }
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  std::uint32_t ordinal() const noexcept { return ordinal_.load(std::memory_order_acquire); }

  // For the consumer: bytes from a place in the ring, and giving places back to the producer.
  void copy_out(std::uint64_t at, void* to, std::size_t size) const noexcept;
  void free_to(std::uint64_t at) noexcept;

 private:
  void copy_in(std::uint64_t at, const void* from, std::size_t size) noexcept;

  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint32_t> ordinal_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<bool> owned_{false};
  std::atomic<bool> locked_{false};
  char* data_ = nullptr;
  std::uint64_t size_ = 0;
};

// The consumer's place in a ring: reads records up to a limit, and goes back when what it read
// could not be written.
class RingCursor {
 public:
  struct Mark {
    std::uint64_t at = 0;
    std::uint32_t ordinal = 0;
    std::uint64_t damaged = 0;  // records lost before it
  };

  explicit RingCursor(Ring& ring) : ring_(&ring) {}

  // Looks at what the producer has written by now.
  void begin_pass() noexcept {
    limit_ = ring_->head();
    vain_ = box::vain_bytes(limit_ - mark_.at);
  }
  // Loads the next record; false at the limit. Throws bad_alloc.
  bool load();
  bool loaded() const { return loaded_; }
  const box::RecordHeader& header() const { return header_; }
  std::string_view payload() const { return {payload_.data(), header_.payload_size}; }
  void next() noexcept;
  // Everything before the mark is done with.
  Mark mark() const noexcept { return mark_; }
  void commit(Mark mark) noexcept;
  void rewind() noexcept;
  // Records that turned out damaged, among those that are done with.
  std::uint64_t damaged() const noexcept { return committed_.damaged; }
  // With no producer left: records that vanished at the ring's end.
  void settle() noexcept;

 private:
  Ring* ring_;
  std::uint64_t limit_ = 0;
  std::uint64_t vain_ = 0;  // bytes that this pass may still read in vain
  Mark mark_;               // behind the last record that was passed
  Mark committed_;          // behind the last record that is done with
  bool loaded_ = false;
  box::RecordHeader header_{};
  std::vector<char> payload_;
};

}  // namespace nnd::record
