// Writes one MessagePack map into a buffer of its own: 2 KiB in place, on the heap beyond, 64 KiB
// at most. What does not fit is left out or cut, and the map then says so itself ("cut": true).
// Never throws. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nccl_net_diag/black_box.h"
#include "record/key.h"

namespace nnd::record {

class Pack {
 public:
  static constexpr std::size_t kInPlace = 2048;
  static constexpr std::size_t kLargest = nccl_net_diag::box::kLargestPayload;
  static constexpr std::size_t kLongestString = 8 * 1024;
  static constexpr int kDeepest = 8;

  Pack() { reset(); }
  ~Pack();
  Pack(const Pack&) = delete;
  Pack& operator=(const Pack&) = delete;

  void add(Key key, std::string_view value);
  // A literal would otherwise become a bool.
  void add(Key key, const char* value) { add(key, std::string_view(value)); }
  void add(Key key, bool value);
  void add(Key key, double value);
  void add_signed(Key key, std::int64_t value);
  void add_unsigned(Key key, std::uint64_t value);
  void hex(Key key, std::uint64_t value);
  void open(Key key, bool array);
  void push(std::string_view value);
  void push_object();
  void end();

  // Closes what is open. The view lives until the next call.
  std::string_view finish();
  void reset();

  int depth() const { return depth_; }

 private:
  struct Level {
    std::uint32_t count_at;  // where the 16-bit count lies
    std::uint16_t count;
    bool array;
  };

  bool reserve(std::size_t bytes);
  template <class Write>
  void item(Key key, std::size_t value_bytes, Write write);
  template <class Write>
  void unusual_item(Key key, std::size_t value_bytes, Write write);
  void written_to(const char* end) { size_ = static_cast<std::size_t>(end - data_); }
  char* open_level(char* to, bool array);
  std::string_view fitting(std::string_view value, bool* cut);

  char in_place_[kInPlace];
  char* data_ = in_place_;
  std::size_t capacity_ = kInPlace;
  std::size_t size_ = 0;
  int depth_ = 0;    // of levels that exist in the buffer
  int unheard_ = 0;  // levels opened that had no room
  bool cut_ = false;
  Level levels_[kDeepest];
};

}  // namespace nnd::record
