#include "reduce.h"

#include <cmath>
#include <cstring>
#include <type_traits>

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
      return a + b;
    }
  }
};

struct Smaller {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return std::fmin(a, b);
    return b < a ? b : a;
  }
};

struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return std::fmax(a, b);
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
  if constexpr (std::is_floating_point_v<T>) {
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
    case Operation::kAverage:
      break;  // refused at the launch
  }
}

}  // namespace

void reduce(const Function& function, std::uint64_t op_arg, void* out, const void* a, const void* b,
            std::size_t count) {
  switch (function.type) {
    case Type::kInt8:
      return reduce_as<std::int8_t>(function.operation, op_arg, out, a, b, count);
    case Type::kUint8:
      return reduce_as<std::uint8_t>(function.operation, op_arg, out, a, b, count);
    case Type::kInt32:
      return reduce_as<std::int32_t>(function.operation, op_arg, out, a, b, count);
    case Type::kUint32:
      return reduce_as<std::uint32_t>(function.operation, op_arg, out, a, b, count);
    case Type::kInt64:
      return reduce_as<std::int64_t>(function.operation, op_arg, out, a, b, count);
    case Type::kUint64:
      return reduce_as<std::uint64_t>(function.operation, op_arg, out, a, b, count);
    case Type::kFloat32:
      return reduce_as<float>(function.operation, op_arg, out, a, b, count);
    case Type::kFloat64:
      return reduce_as<double>(function.operation, op_arg, out, a, b, count);
  }
}

}  // namespace softcuda
