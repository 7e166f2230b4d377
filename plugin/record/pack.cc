#include "record/pack.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace nnd::record {

namespace {

constexpr std::string_view kCutMark = "\xE2\x80\xA6";  // an ellipsis: "there was more"
constexpr std::size_t kTail = 8;                       // kept free for "cut": true
constexpr std::size_t kStringHead = 5;
constexpr std::size_t kLevelHead = 3;

}  // namespace

Pack::~Pack() {
  if (data_ != in_place_) std::free(data_);
}

void Pack::reset() {
  size_ = 0;
  depth_ = 0;
  unheard_ = 0;
  cut_ = false;
  open_level(false);
}

// True when `bytes` more fit, the tail left free.
bool Pack::reserve(std::size_t bytes) {
  const std::size_t need = size_ + bytes + kTail;
  if (need <= capacity_) return true;
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

void Pack::big_endian(std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    byte(static_cast<unsigned>((value >> shift) & 0xFF));
}

// Cuts a string that is too long, between two UTF-8 characters.
std::string_view Pack::fitting(std::string_view value, bool* cut) {
  std::size_t room = kLongestString;
  if (size_ + kStringHead + kTail + value.size() > kLargest)
    room = kLargest > size_ + kStringHead + kTail ? kLargest - size_ - kStringHead - kTail : 0;
  *cut = value.size() > room;
  if (!*cut) return value;
  std::size_t keep = room > kCutMark.size() ? room - kCutMark.size() : 0;
  while (keep > 0 && (static_cast<unsigned char>(value[keep]) & 0xC0) == 0x80) --keep;
  return value.substr(0, keep);
}

// Writes the head of a string and its bytes; the caller reserved the room.
void Pack::text(std::string_view value) {
  const std::size_t n = value.size();
  if (n < 32) {
    byte(0xA0 | static_cast<unsigned>(n));
  } else if (n < 256) {
    byte(0xD9);
    big_endian(n, 1);
  } else {
    byte(0xDA);
    big_endian(n, 2);
  }
  if (n > 0) std::memcpy(data_ + size_, value.data(), n);  // an empty view may have no address
  size_ += n;
}

// Begins an item of the innermost level: counts it and writes its key (none in an array).
bool Pack::item(std::string_view key, std::size_t value_bytes) {
  if (unheard_ > 0) return false;
  Level& level = levels_[depth_ - 1];
  if (level.array != key.empty() || level.count == std::numeric_limits<std::uint16_t>::max() ||
      key.size() > 255 || !reserve(kStringHead + key.size() + value_bytes)) {
    cut_ = true;
    return false;
  }
  ++level.count;
  if (!level.array) text(key);
  return true;
}

void Pack::add(std::string_view key, std::string_view value) {
  bool cut = false;
  const std::string_view kept = fitting(value, &cut);
  if (!item(key, kStringHead + kept.size() + kCutMark.size())) return;
  if (!cut) return text(kept);
  cut_ = true;
  const std::size_t n = kept.size() + kCutMark.size();
  byte(0xDA);
  big_endian(n, 2);
  std::memcpy(data_ + size_, kept.data(), kept.size());
  std::memcpy(data_ + size_ + kept.size(), kCutMark.data(), kCutMark.size());
  size_ += n;
}

void Pack::push(std::string_view value) { add({}, value); }

void Pack::add(std::string_view key, bool value) {
  if (item(key, 1)) byte(value ? 0xC3 : 0xC2);
}

void Pack::add(std::string_view key, double value) {
  if (!item(key, 9)) return;
  byte(0xCB);
  big_endian(std::bit_cast<std::uint64_t>(value), 8);
}

void Pack::add_signed(std::string_view key, std::int64_t value) {
  if (value >= 0) return add_unsigned(key, static_cast<std::uint64_t>(value));
  if (!item(key, 9)) return;
  if (value >= -32) return byte(static_cast<unsigned>(value) & 0xFF);
  byte(0xD3);
  big_endian(static_cast<std::uint64_t>(value), 8);
}

void Pack::add_unsigned(std::string_view key, std::uint64_t value) {
  if (!item(key, 9)) return;
  if (value < 0x80) return byte(static_cast<unsigned>(value));
  const int bytes = value <= 0xFF ? 1 : value <= 0xFFFF ? 2 : value <= 0xFFFFFFFF ? 4 : 8;
  byte(0xCC + static_cast<unsigned>(std::bit_width(static_cast<unsigned>(bytes)) - 1));
  big_endian(value, bytes);
}

void Pack::hex(std::string_view key, std::uint64_t value) {
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

void Pack::open_level(bool array) {
  byte(array ? 0xDC : 0xDE);
  levels_[depth_++] = {static_cast<std::uint32_t>(size_), 0, array};
  big_endian(0, 2);
}

void Pack::open(std::string_view key, bool array) {
  if (depth_ < kDeepest && item(key, kLevelHead)) return open_level(array);
  cut_ = true;
  ++unheard_;
}

void Pack::push_object() { open({}, false); }

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
    text("cut");
    byte(0xC3);
    ++root.count;
    cut_ = false;
  }
  data_[root.count_at] = static_cast<char>(root.count >> 8);
  data_[root.count_at + 1] = static_cast<char>(root.count & 0xFF);
  return {data_, size_};
}

}  // namespace nnd::record
