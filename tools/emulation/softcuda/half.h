// The two floating-point types of 16 bits, which C++20 doesn't have. Arithmetic is that of float,
// each result rounded to the nearest, ties to even, as GPUs do it.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "function.h"

namespace softcuda {

class Bfloat16 {
 public:
  Bfloat16() = default;
  explicit Bfloat16(float value);
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }

 private:
  std::uint16_t bits_;
};

class Float16 {
 public:
  Float16() = default;
  explicit Float16(float value);
  operator float() const;

 private:
  std::uint16_t bits_;
};

inline Bfloat16::Bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t kBelow = 0x7fff, kQuiet = 0x40;
  if (value != value)
    bits_ = static_cast<std::uint16_t>(bits >> 16 | kQuiet);
  else
    bits_ = static_cast<std::uint16_t>((bits + kBelow + (bits >> 16 & 1)) >> 16);
}

template <typename T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Bfloat16> || std::is_same_v<T, Float16>;

// Calls function with a zero of the type.
template <typename F>
auto with_type(Type type, F function) {
  switch (type) {
    case Type::kInt8:
      return function(std::int8_t{});
    case Type::kUint8:
      return function(std::uint8_t{});
    case Type::kInt32:
      return function(std::int32_t{});
    case Type::kUint32:
      return function(std::uint32_t{});
    case Type::kInt64:
      return function(std::int64_t{});
    case Type::kUint64:
      return function(std::uint64_t{});
    case Type::kFloat16:
      return function(Float16{});
    case Type::kBfloat16:
      return function(Bfloat16{});
    case Type::kFloat32:
      return function(float{});
    case Type::kFloat64:
      break;
  }
  return function(double{});
}

}  // namespace softcuda
