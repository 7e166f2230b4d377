#include "reduce.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "half.h"

namespace softcuda {
namespace {

// As types, so that each loop has its own code and no call per element.
struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;  // overflow wraps
      return static_cast<T>(
          static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return static_cast<T>(a + b);
    }
  }
};

struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
      return static_cast<T>(a * b);
  }
};

struct Smaller {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmin(a, b);
    else if constexpr (kIsFloat<T>)
      return static_cast<T>(std::fmin(float{a}, float{b}));
    else
      return b < a ? b : a;
  }
};

struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmax(a, b);
    else if constexpr (kIsFloat<T>)
      return static_cast<T>(std::fmax(float{a}, float{b}));
    else
      return a < b ? b : a;
  }
};

template <typename T, typename F>
void apply(void* out, const void* a, const void* b, std::size_t count, F combine) {
  for (std::size_t i = 0; i < count; ++i) {
    T x, y;
    std::memcpy(&x, static_cast<const char*>(a) + i * sizeof(T), sizeof(T));
    std::memcpy(&y, static_cast<const char*>(b) + i * sizeof(T), sizeof(T));
    const T result = combine(x, y);
    std::memcpy(static_cast<char*>(out) + i * sizeof(T), &result, sizeof(T));
  }
}

template <typename T>
void reduce_masked(std::uint64_t op_arg, void* out, const void* a, const void* b,
                   std::size_t count) {
  if constexpr (kIsFloat<T>) {
    if ((op_arg & 1) == 0)
      apply<T>(out, a, b, count, Smaller{});
    else
      apply<T>(out, a, b, count, Larger{});
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    const auto mask = static_cast<Unsigned>(op_arg);
    apply<Unsigned>(out, a, b, count, [mask](Unsigned x, Unsigned y) {
      return static_cast<Unsigned>(x ^ mask) < static_cast<Unsigned>(y ^ mask) ? x : y;
    });
  }
}

template <typename T>
void reduce_as(Operation operation, std::uint64_t op_arg, void* out, const void* a, const void* b,
               std::size_t count) {
  switch (operation) {
    case Operation::kNone:
      std::memmove(out, a, count * sizeof(T));
      break;
    case Operation::kSum:
    case Operation::kPreMulSum:
    case Operation::kSumPostDiv:
      apply<T>(out, a, b, count, Sum{});
      break;
    case Operation::kMin:
      apply<T>(out, a, b, count, Smaller{});
      break;
    case Operation::kMax:
      apply<T>(out, a, b, count, Larger{});
      break;
    case Operation::kMinMax:
      reduce_masked<T>(op_arg, out, a, b, count);
      break;
    case Operation::kProduct:
    case Operation::kAverage:
      break;  // refused at the launch
  }
}

template <typename T>
T scalar_of(std::uint64_t op_arg) {
  T scalar;
  std::memcpy(static_cast<void*>(&scalar), &op_arg, sizeof scalar);
  return scalar;
}

template <typename T>
void divide(void* data, std::uint64_t divisor, std::size_t count) {
  const auto by = static_cast<T>(divisor);
  if (by == 0) return;
  apply<T>(data, data, data, count, [by](T x, T) { return static_cast<T>(x / by); });
}

}  // namespace

void reduce(const Function& function, std::uint64_t op_arg, void* out, const void* a, const void* b,
            std::size_t count) {
  with_type(function.type, [&](auto zero) {
    reduce_as<decltype(zero)>(function.operation, op_arg, out, a, b, count);
  });
}

void scale(const Function& function, std::uint64_t op_arg, void* out, const void* in,
           std::size_t count) {
  with_type(function.type, [&](auto zero) {
    using T = decltype(zero);
    const T factor = scalar_of<T>(op_arg);
    apply<T>(out, in, in, count, [factor](T x, T) { return Product{}(x, factor); });
  });
}

void finish(const Function& function, std::uint64_t op_arg, void* data, std::size_t count) {
  if (function.operation != Operation::kSumPostDiv) return;
  const bool is_signed = (op_arg & 1) != 0;
  with_type(function.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      if (is_signed)
        divide<std::make_signed_t<T>>(data, op_arg >> 1, count);
      else
        divide<std::make_unsigned_t<T>>(data, op_arg >> 1, count);
    }
  });
}

}  // namespace softcuda
