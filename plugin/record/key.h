// The name of a field. One of up to 15 bytes, as nearly all are, is kept as MessagePack has it: two
// words, made by the compiler, passed in registers and written in two moves. Only to be passed on:
// a longer one is somebody else's text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace nnd::record {

class Key {
  static_assert(std::endian::native == std::endian::little, "the first byte is a word's lowest");

 public:
  static constexpr std::size_t kBytes = 16;  // that put_short writes, also for a shorter one

  template <std::size_t kSize>
  consteval Key(const char (&literal)[kSize]) noexcept
      : Key(std::string_view(literal, kSize - 1)) {}
  Key(const std::string& text) noexcept : Key(std::string_view(text)) {}
  constexpr Key(std::string_view text) noexcept {
    const std::size_t size = text.size();
    if (size == 0 || size >= kBytes) {
      head_ = size << 8;
      text_ = text.data();
      return;
    }
    head_ = kShortHead | size;
    for (std::size_t at = 1; at <= size; ++at)
      (at < 8 ? head_ : tail_) |= std::uint64_t{static_cast<unsigned char>(text[at - 1])}
                                  << (at % 8 * 8);
  }

  bool empty() const noexcept { return head_ == 0; }
  std::size_t size() const noexcept { return is_short() ? head_ & 15 : head_ >> 8; }
  bool is_short() const noexcept { return (head_ & kShortHead) != 0; }

  // Of a short one: writes it, with its head, and returns what comes behind it.
  char* put_short(char* to) const noexcept {
    std::memcpy(to, &head_, 8);
    std::memcpy(to + 8, &tail_, 8);
    return to + 1 + (head_ & 15);
  }
  // Of one that isn't short.
  std::string_view text() const noexcept { return {text_, head_ >> 8}; }

  // Between short ones.
  bool operator==(const Key& other) const noexcept {
    return head_ == other.head_ && tail_ == other.tail_;
  }

 private:
  static constexpr std::uint64_t kShortHead = 0xA0;

  std::uint64_t head_ = 0;  // the first 8 bytes; of one that isn't short its size, above a 0 byte
  union {
    std::uint64_t tail_ = 0;
    const char* text_;
  };
};

}  // namespace nnd::record
