// The black box's file. The drain's thread alone writes it, with pwrite(): no thread of NCCL's ever
// faults into a file system, and whatever happens to the file raises no signal.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "nccl_net_diag/black_box.h"
#include "record/ring.h"

namespace nnd::record {

// One table of slots as the file has it: only what has changed is written.
template <class Slot>
class SlotTable {
 public:
  explicit SlotTable(std::uint64_t offset) : offset_(offset) {}

  std::size_t size() const { return slots_.size(); }
  void grow(std::size_t places) {  // throws bad_alloc
    changed_.reserve(places);
    slots_.resize(places);
  }
  const Slot& operator[](std::size_t place) const { return slots_[place]; }
  void set(std::size_t place, const Slot& slot) noexcept {
    if (std::memcmp(&slots_[place], &slot, sizeof(slot)) == 0) return;
    std::memcpy(&slots_[place], &slot, sizeof(slot));
    changed_.push_back(place);  // once between two flushes: there is room
  }
  // What has changed and nothing else; neighbours, set one after the other, at once.
  template <class Write>
  void flush(Write&& write) noexcept {
    for (std::size_t i = 0; i < changed_.size();) {
      const std::size_t first = changed_[i];
      std::size_t count = 1;
      while (i + count < changed_.size() && changed_[i + count] == first + count) ++count;
      write(offset_ + first * sizeof(Slot), &slots_[first], count * sizeof(Slot));
      i += count;
    }
    changed_.clear();
  }

 private:
  std::uint64_t offset_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> changed_;
};

class Box {
 public:
  static constexpr std::uint32_t kRings = 16;
  static constexpr std::uint64_t kRingSize = 512 * 1024;
  static constexpr std::uint32_t kComms = 512;
  // What a box on a tmpfs leaves of the memory that the job's cgroup has.
  static constexpr std::uint64_t kMemoryLeft = std::uint64_t{8} << 20;
  // Of a new file; further rings come when their threads tell something, and places as there are
  // connections.
  static std::size_t bytes() noexcept;

  Box();

  // Reserves the file's blocks, where its file system can. 0 or an errno. The descriptor stays the
  // caller's, and open until close().
  int open(int fd) noexcept;
  void close() noexcept { fd_ = -1; }
  bool is_open() const noexcept { return fd_ >= 0; }
  // Whether its blocks are there, so that a disk that is full later takes nothing from it.
  bool reserved() const noexcept { return reserved_; }

  void describe(std::uint64_t proc_id, std::string_view host, std::string_view log_path) noexcept;
  // The header's words that change: from alive_mono_ns to longest_pause_ns.
  box::FileHeader& header() noexcept { return header_; }
  // Written at once, where it is another one.
  void set_awaited(const box::AwaitedSlot& slot) noexcept;
  void set_latecomer(const box::LatecomerSlot& slot) noexcept;
  SlotTable<box::CommSlot>& comms() noexcept { return comms_; }
  SlotTable<box::ConnSlot>& conns() noexcept { return conns_; }
  // At a connection, the last time: whether its slot may be another now.
  struct Look {
    std::uint64_t mark = 0;
    bool again = false;
  };
  Look& look(std::size_t place) noexcept { return looks_[place]; }
  // How many of so many places there are: the file grows by what is missing.
  std::size_t make_places(std::size_t wanted) noexcept;
  std::size_t make_comm_places(std::size_t wanted) noexcept;
  // Bytes that were written to the file so far.
  std::uint64_t written() const noexcept { return written_; }

  // What the ring holds that is not in the log. For its consumer.
  void put(std::uint32_t index, const Ring& ring) noexcept;
  // Writes what has changed but for the rings.
  void flush() noexcept;

 private:
  enum class Room : std::uint8_t { kNotAsked, kThere, kNone };

  void write(std::uint64_t offset, const void* from, std::size_t size) noexcept;
  // Before the disk is full: blocks for a ring that is in use.
  void make_room(std::uint32_t index) noexcept;
  int allocate_places(std::size_t places) noexcept;

  int allocate_comms(std::size_t places) noexcept;

  int fd_ = -1;
  std::uint64_t written_ = 0;
  bool full_ = false;  // it could not grow
  bool reserved_ = true;
  box::FileHeader header_{};
  std::array<box::RingHeader, kRings> rings_{};  // as the file has them
  std::array<Room, kRings> room_{};
  SlotTable<box::CommSlot> comms_;
  SlotTable<box::ConnSlot> conns_;
  std::vector<Look> looks_;  // one for each of conns_
};

}  // namespace nnd::record
