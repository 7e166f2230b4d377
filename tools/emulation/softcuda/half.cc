#include "half.h"

#include <algorithm>
#include <cmath>

namespace softcuda {
namespace {

constexpr int kMantissa = 10, kBias = 15, kHighest = 31;
constexpr std::uint16_t kSign = 0x8000, kInfinity = 0x7c00, kQuiet = 0x200;

}  // namespace

Float16::operator float() const {
  const int exponent = bits_ >> kMantissa & kHighest;
  const int mantissa = bits_ & ((1 << kMantissa) - 1);
  float value = 0;
  if (exponent == kHighest)
    value = mantissa != 0 ? NAN : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa);
  else
    value =
        std::ldexp(static_cast<float>(mantissa + (1 << kMantissa)), exponent - kBias - kMantissa);
  return (bits_ & kSign) != 0 ? -value : value;
}

Float16::Float16(float value) {
  const std::uint16_t sign = std::signbit(value) ? kSign : 0;
  const float size = std::fabs(value);
  if (std::isnan(value)) {
    bits_ = static_cast<std::uint16_t>(sign | kInfinity | kQuiet);
    return;
  }
  if (size == 0) {
    bits_ = sign;
    return;
  }
  int exponent = 0;
  std::frexp(size, &exponent);  // size < 2^exponent
  // What one unit of the mantissa is worth; below the smallest exponent it gets no smaller.
  const int unit = std::max(exponent - 1, 1 - kBias) - kMantissa;
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(std::fmin(size, 1e6F), -unit)));
  // A mantissa that was rounded up to the next power of two counts the exponent on by itself.
  const int biased = unit + kMantissa + kBias - 1;
  const int bits = std::isinf(size) ? kInfinity : (biased << kMantissa) + units;
  bits_ = static_cast<std::uint16_t>(sign | std::min<int>(bits, kInfinity));
}

}  // namespace softcuda
