#include "record/pack.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace nnd::record {

namespace {

constexpr std::string_view kCutMark = "\xE2\x80\xA6";  // an ellipsis: "there was more"
constexpr std::size_t kTail = 8;                       // kept free for "cut": true
constexpr std::size_t kStringHead = 5;
constexpr std::size_t kLevelHead = 3;
constexpr std::size_t kLongestKey = 255;
static_assert(Pack::kLargest - kTail <= 0xFFFF, "a level's count can't overflow");
constexpr std::size_t kShort = 32;  // a text below has a head of one byte

// Below kShort bytes, as nearly every key and most values are: a call would take longer.
inline void copy_short(char* to, const char* from, std::size_t n) {
  const auto ends = [&]<std::size_t kBytes>(std::integral_constant<std::size_t, kBytes>) {
    std::memcpy(to, from, kBytes);
    std::memcpy(to + n - kBytes, from + n - kBytes, kBytes);
  };
  if (n >= 16) return ends(std::integral_constant<std::size_t, 16>());
  if (n >= 8) return ends(std::integral_constant<std::size_t, 8>());
  if (n >= 4) return ends(std::integral_constant<std::size_t, 4>());
  for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
}

template <class Word>
void store_big_endian(char* to, Word value) {
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof(Word) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(Word) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(Word) == 8) value = __builtin_bswap64(value);
  }
  std::memcpy(to, &value, sizeof(value));
}

char* put_byte(char* to, unsigned value) {
  *to = static_cast<char>(value);
  return to + 1;
}

template <class Word>
char* put_big_endian(char* to, Word value) {
  store_big_endian(to, value);
  return to + sizeof(value);
}

// What follows writes at `to`, where the caller has made room, and returns what comes behind it.

char* put_text_head(char* to, std::size_t n) {
  if (n < kShort) return put_byte(to, 0xA0 | static_cast<unsigned>(n));
  if (n < 256) return put_byte(put_byte(to, 0xD9), static_cast<unsigned>(n));
  return put_big_endian(put_byte(to, 0xDA), static_cast<std::uint16_t>(n));
}

[[gnu::always_inline]] inline char* put_text(char* to, std::string_view value) {
  const std::size_t n = value.size();
  to = put_text_head(to, n);
  if (n < kShort) [[likely]]
    copy_short(to, value.data(), n);
  else
    std::memcpy(to, value.data(), n);
  return to + n;
}

inline char* put_unsigned(char* to, std::uint64_t value) {
  if (value < 0x80) return put_byte(to, static_cast<unsigned>(value));
  if (value <= 0xFF) return put_byte(put_byte(to, 0xCC), static_cast<unsigned>(value));
  if (value <= 0xFFFF) return put_big_endian(put_byte(to, 0xCD), static_cast<std::uint16_t>(value));
  if (value <= 0xFFFFFFFF)
    return put_big_endian(put_byte(to, 0xCE), static_cast<std::uint32_t>(value));
  return put_big_endian(put_byte(to, 0xCF), value);
}

}  // namespace

Pack::~Pack() {
  if (data_ != in_place_) std::free(data_);
}

void Pack::reset() {
  size_ = 0;
  depth_ = 0;
  unheard_ = 0;
  cut_ = false;
  written_to(open_level(data_, false));
}

// Makes room for `bytes` more, the tail left free. False: there can be none.
bool Pack::reserve(std::size_t bytes) {
  const std::size_t need = size_ + bytes + kTail;
  if (need > kLargest) return false;
  std::size_t capacity = capacity_;
  while (capacity < need) capacity *= 2;
  char* grown = static_cast<char*>(std::realloc(data_ == in_place_ ? nullptr : data_, capacity));
  if (grown == nullptr) return false;
  if (data_ == in_place_) std::memcpy(grown, in_place_, size_);
  data_ = grown;
  capacity_ = capacity;
  return true;
}

// Cuts a string that is too long, between two UTF-8 characters.
inline std::string_view Pack::fitting(std::string_view value, bool* cut) {
  *cut = false;
  if (value.size() < kShort && size_ + kInPlace < kLargest) [[likely]]
    return value;
  std::size_t room = kLongestString;
  if (size_ + kStringHead + kTail + value.size() > kLargest)
    room = kLargest > size_ + kStringHead + kTail ? kLargest - size_ - kStringHead - kTail : 0;
  *cut = value.size() > room;
  if (!*cut) return value;
  std::size_t keep = room > kCutMark.size() ? room - kCutMark.size() : 0;
  while (keep > 0 && (static_cast<unsigned char>(value[keep]) & 0xC0) == 0x80) --keep;
  return value.substr(0, keep);
}

// An item of the innermost level: counts it, writes its key (none in an array) and has its value
// written: write(to) gets room for so many bytes, and returns what comes behind them. Nearly all
// are under a short key; what calls nothing saves no registers.
template <class Write>
[[gnu::always_inline]] inline void Pack::item(Key key, std::size_t value_bytes, Write write) {
  Level& level = levels_[depth_ - 1];
  if (unheard_ > 0 || level.array || !key.is_short() ||
      size_ + Key::kBytes + value_bytes + kTail > capacity_) [[unlikely]]
    return unusual_item(key, value_bytes, write);
  ++level.count;
  written_to(write(key.put_short(data_ + size_)));
}

template <class Write>
[[gnu::noinline]] void Pack::unusual_item(Key key, std::size_t value_bytes, Write write) {
  if (unheard_ > 0) return;
  Level& level = levels_[depth_ - 1];
  const std::size_t bytes = std::max(kStringHead + key.size(), Key::kBytes) + value_bytes;
  if (level.array != key.empty() || key.size() > kLongestKey ||
      (size_ + bytes + kTail > capacity_ && !reserve(bytes))) {
    cut_ = true;
    return;
  }
  ++level.count;
  char* to = data_ + size_;
  if (key.is_short())
    to = key.put_short(to);
  else if (!level.array)
    to = put_text(to, key.text());
  written_to(write(to));
}

void Pack::add(Key key, std::string_view value) {
  bool cut = false;
  const std::string_view kept = fitting(value, &cut);
  if (!cut) [[likely]]
    return item(key, kStringHead + kept.size(), [kept](char* to) { return put_text(to, kept); });
  cut_ = true;
  item(key, kStringHead + kept.size() + kCutMark.size(), [kept](char* to) {
    to = put_text_head(to, kept.size() + kCutMark.size());
    std::memcpy(to, kept.data(), kept.size());
    std::memcpy(to + kept.size(), kCutMark.data(), kCutMark.size());
    return to + kept.size() + kCutMark.size();
  });
}

void Pack::push(std::string_view value) { add("", value); }

void Pack::add(Key key, bool value) {
  item(key, 1, [value](char* to) { return put_byte(to, value ? 0xC3 : 0xC2); });
}

void Pack::add(Key key, double value) {
  item(key, 9, [value](char* to) {
    return put_big_endian(put_byte(to, 0xCB), std::bit_cast<std::uint64_t>(value));
  });
}

void Pack::add_signed(Key key, std::int64_t value) {
  if (value >= 0) return add_unsigned(key, static_cast<std::uint64_t>(value));
  item(key, 9, [value](char* to) {
    if (value >= -32) return put_byte(to, static_cast<unsigned>(value) & 0xFF);
    return put_big_endian(put_byte(to, 0xD3), static_cast<std::uint64_t>(value));
  });
}

void Pack::add_unsigned(Key key, std::uint64_t value) {
  item(key, 9, [value](char* to) { return put_unsigned(to, value); });
}

void Pack::hex(Key key, std::uint64_t value) {
  char text[2 + 16];
  int at = static_cast<int>(sizeof(text));
  do {
    text[--at] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  text[--at] = 'x';
  text[--at] = '0';
  add(key, std::string_view(text + at, sizeof(text) - static_cast<std::size_t>(at)));
}

char* Pack::open_level(char* to, bool array) {
  to = put_byte(to, array ? 0xDC : 0xDE);
  levels_[depth_++] = {static_cast<std::uint32_t>(to - data_), 0, array};
  return put_big_endian(to, std::uint16_t{0});
}

void Pack::open(Key key, bool array) {
  const int depth = depth_;
  if (depth < kDeepest)
    item(key, kLevelHead, [this, array](char* to) { return open_level(to, array); });
  if (depth_ > depth) return;
  cut_ = true;
  ++unheard_;
}

void Pack::push_object() { open("", false); }

void Pack::end() {
  if (unheard_ > 0) {
    --unheard_;
    return;
  }
  if (depth_ <= 1) return;
  const Level& level = levels_[--depth_];
  data_[level.count_at] = static_cast<char>(level.count >> 8);
  data_[level.count_at + 1] = static_cast<char>(level.count & 0xFF);
}

std::string_view Pack::finish() {
  while (depth_ > 1 || unheard_ > 0) end();
  Level& root = levels_[0];
  if (cut_) {
    written_to(put_byte(put_text(data_ + size_, "cut"), 0xC3));
    ++root.count;
    cut_ = false;
  }
  data_[root.count_at] = static_cast<char>(root.count >> 8);
  data_[root.count_at + 1] = static_cast<char>(root.count & 0xFF);
  return {data_, size_};
}

}  // namespace nnd::record
