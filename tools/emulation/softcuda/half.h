// The two floating-point types of 16 bits, which C++20 doesn't have. Arithmetic is that of float,
// each result rounded to the nearest, ties to even, as GPUs do it.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

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

}  // namespace softcuda
