// The functors are those of ATen/native/cuda: BinaryInternal.h, Loops.cuh, Fill.cu, Copy.cu,
// BinaryMulKernel.cu, BinaryDivTrueKernel.cu, UnaryOpsKernel.cu and others, PyTorch 2.7 to 2.15.
#include "operation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "kernel_name.h"

namespace softcuda {
namespace {

using Operation = std::optional<ElementOperation>;

// A number that a functor holds, as both kinds.
struct Scalar {
  double fraction;
  std::int64_t integer;
  template <typename N>
  N as() const {
    if constexpr (std::is_same_v<N, double>)
      return fraction;
    else
      return integer;
  }
};

Scalar scalar_at(const char* state, Element element) {
  return {read_element<double>(element, state), read_element<std::int64_t>(element, state)};
}

// Integers wrap.
template <typename N, typename F>
N wrapping(N a, N b, F f) {
  if constexpr (std::is_same_v<N, double>)
    return f(a, b);
  else
    return static_cast<N>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
template <typename N>
N times(N a, N b) {
  return wrapping(a, b, [](auto x, auto y) { return x * y; });
}
template <typename N>
N plus(N a, N b) {
  return wrapping(a, b, [](auto x, auto y) { return x + y; });
}

template <typename F>
ElementOperation make(std::vector<Element> in, Element out, F f) {
  bool fractions = has_fraction(out);
  for (const Element each : in) fractions = fractions || has_fraction(each);
  ElementOperation made{std::move(in), out, nullptr, nullptr};
  if (fractions)
    made.fractions = [f](const double* x) { return static_cast<double>(f(x)); };
  else
    made.integers = [f](const std::int64_t* x) { return static_cast<std::int64_t>(f(x)); };
  return made;
}

template <typename X>
using NumberOf = std::remove_cvref_t<decltype(*std::declval<X>())>;

// What BinaryFunctor, AUnaryFunctor and BUnaryFunctor hold: f(a, b).
constexpr std::string_view kEqual = "equal", kNotEqual = "not equal";

template <typename N>
N apply_two(std::string_view name, N a, N b) {
  if (name == "MulFunctor") return times(a, b);
  if (name == "DivFunctor") return b == 0 && !std::is_same_v<N, double> ? N{0} : a / b;
  return static_cast<N>((a == b) == (name == kEqual));
}

// What apply_two knows it by. CompareEqFunctor holds which it is, equal or not; the others hold
// nothing.
std::string two_named(const std::string& functor, const char* state) {
  if (functor == "MulFunctor" || functor == "DivFunctor") return functor;
  if (functor != "CompareEqFunctor") return {};
  return std::string(read_element<std::int64_t>(Element::kInt32, state) == 0 ? kEqual : kNotEqual);
}

// An empty functor takes a byte, one that compares an int; the scalar is at the next place that
// fits it.
Scalar scalar_behind(const std::string& functor, const char* state, Element element) {
  const Element held = computed_in(element);
  const std::size_t before = functor == "CompareEqFunctor" ? sizeof(int) : 1;
  return scalar_at(state + std::max(before, bytes_of(held)), held);
}

Operation two_arguments(const TemplateName& name, const char* state) {
  if (name.arguments.size() != 4) return std::nullopt;
  const auto a = element_named(name.arguments[0]), b = element_named(name.arguments[1]),
             out = element_named(name.arguments[2]);
  if (name.name == "BinaryFunctor" && name.arguments[3].find("{lambda(") != std::string::npos)
    return parse_operation(name.arguments[3], state);
  const std::string functor = parse_template(name.arguments[3]).name;
  const std::string inner = two_named(functor, state);
  if (!a || !b || !out || inner.empty()) return std::nullopt;
  if (name.name == "AUnaryFunctor")
    return make({*b}, *out, [inner, held = scalar_behind(functor, state, *a)](const auto* x) {
      return apply_two(inner, held.as<NumberOf<decltype(x)>>(), x[0]);
    });
  if (name.name == "BUnaryFunctor")
    return make({*a}, *out, [inner, held = scalar_behind(functor, state, *b)](const auto* x) {
      return apply_two(inner, x[0], held.as<NumberOf<decltype(x)>>());
    });
  return make({*a, *b}, *out, [inner](const auto* x) { return apply_two(inner, x[0], x[1]); });
}

// Those of one type: filling, and adding with a factor.
Operation one_type(const TemplateName& name, const char* state) {
  const auto type = name.arguments.empty() ? std::nullopt : element_named(name.arguments[0]);
  if (!type) return std::nullopt;
  const Element held = computed_in(*type);
  if (name.name == "FillFunctor")
    return make({}, *type, [value = scalar_at(state, *type)](const auto* x) {
      return value.as<NumberOf<decltype(x)>>();
    });
  if (name.name == "CompareFunctor")  // holds which: at least, more, at most, less
    return make({*type, *type}, Element::kBool,
                [which = read_element<std::int64_t>(Element::kInt32, state)](const auto* x) {
                  using N = NumberOf<decltype(x)>;
                  constexpr std::int64_t kAtLeast = 0, kMore = 1, kAtMost = 2;
                  if (which == kAtLeast) return static_cast<N>(x[0] >= x[1]);
                  if (which == kMore) return static_cast<N>(x[0] > x[1]);
                  return static_cast<N>(which == kAtMost ? x[0] <= x[1] : x[0] < x[1]);
                });
  const Scalar first = scalar_at(state, held), second = scalar_at(state + bytes_of(held), held);
  if (name.name == "CUDAFunctor_add")
    return make({*type, *type}, *type, [first](const auto* x) {
      return plus(x[0], times(first.as<NumberOf<decltype(x)>>(), x[1]));
    });
  if (name.name == "CUDAFunctorOnSelf_add")  // holds the other and the factor
    return make({*type}, *type, [first, second](const auto* x) {
      using N = NumberOf<decltype(x)>;
      return plus(x[0], times(first.as<N>(), second.as<N>()));
    });
  if (name.name == "CUDAFunctorOnOther_add")  // holds self and the factor
    return make({*type}, *type, [first, second](const auto* x) {
      using N = NumberOf<decltype(x)>;
      return plus(first.as<N>(), times(second.as<N>(), x[0]));
    });
  return std::nullopt;
}

// The types of "...{lambda(float, float)#1}".
std::optional<std::vector<Element>> lambda_arguments(std::string_view functor) {
  constexpr std::string_view kBegin = "{lambda(";
  const auto begin = functor.rfind(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto end = functor.find(')', begin);
  std::vector<Element> types;
  for (const std::string& word :
       split_list(functor.substr(begin + kBegin.size(), end - begin - kBegin.size()))) {
    const auto type = element_named(word);
    if (!type) return std::nullopt;
    types.push_back(*type);
  }
  return types;
}

Operation of_lambda(const TemplateName& made_by, const std::vector<Element>& in,
                    const char* state) {
  const std::string& kernel = made_by.name;
  const Element type = in.front();
  const bool one = in.size() == 1, two = in.size() == 2;
  const auto same = [&](auto f) { return make(in, type, f); };
  if (one && kernel == "direct_copy_kernel_cuda") return same([](const auto* x) { return x[0]; });
  if (one && kernel == "bfloat16_copy_kernel_cuda")
    return make(in, Element::kBfloat16, [](const auto* x) { return x[0]; });
  if (one && kernel == "float16_copy_kernel_cuda")
    return make(in, Element::kFloat16, [](const auto* x) { return x[0]; });
  if (one && kernel == "converting_copy_kernel_cuda" && made_by.arguments.size() == 2)
    if (const auto out = element_named(made_by.arguments[1]))
      return make(in, *out, [](const auto* x) { return x[0]; });
  if (one && kernel == "neg_kernel_cuda")
    return same([](const auto* x) { return times(x[0], NumberOf<decltype(x)>{-1}); });
  if (one && kernel == "reciprocal_kernel_cuda")
    return same([](const auto* x) { return 1.0 / static_cast<double>(x[0]); });
  if (one && kernel == "sqrt_kernel_cuda")
    return same([](const auto* x) { return std::sqrt(static_cast<double>(x[0])); });
  if (one && kernel == "tanh_kernel_cuda")
    return same([](const auto* x) { return std::tanh(static_cast<double>(x[0])); });
  if (one && kernel == "sigmoid_kernel_cuda")
    return same([](const auto* x) { return 1.0 / (1.0 + std::exp(-static_cast<double>(x[0]))); });
  if (two && kernel == "tanh_backward_kernel_cuda")
    return same([](const auto* x) { return x[0] * (1 - x[1] * x[1]); });
  if (two && kernel == "sigmoid_backward_kernel_cuda")
    return same([](const auto* x) { return x[0] * (1 - x[1]) * x[1]; });
  if (two && kernel == "mse_kernel_cuda")
    return same([](const auto* x) { return (x[0] - x[1]) * (x[0] - x[1]); });
  if (one && kernel == "launch_clamp_scalar") {
    // Which limits there are, and the two (ATen/native/cuda/TensorCompare.cu).
    const Element held = computed_in(type);
    const std::size_t at = std::max<std::size_t>(sizeof(int), bytes_of(held));
    const auto which = read_element<std::int64_t>(Element::kInt32, state);
    return same([which, low = scalar_at(state + at, held),
                 high = scalar_at(state + at + bytes_of(held), held)](const auto* x) {
      using N = NumberOf<decltype(x)>;
      constexpr std::int64_t kMin = 0, kMax = 1;
      if (x[0] != x[0]) return x[0];
      if (which == kMin) return std::max(x[0], low.as<N>());
      if (which == kMax) return std::min(x[0], low.as<N>());
      return std::min(std::max(x[0], low.as<N>()), high.as<N>());
    });
  }
  if (two && kernel == "threshold_kernel_impl") {
    const Element held = computed_in(type);
    return same([limit = scalar_at(state, held),
                 value = scalar_at(state + bytes_of(held), held)](const auto* x) {
      using N = NumberOf<decltype(x)>;
      return x[0] <= limit.as<N>() ? value.as<N>() : x[1];
    });
  }
  return std::nullopt;
}

}  // namespace

Operation parse_operation(std::string_view functor, const char* state) {
  if (functor.ends_with('}')) {
    const auto in = lambda_arguments(functor);
    if (!in) return std::nullopt;
    if (in->empty()) return std::nullopt;
    return of_lambda(parse_template(functor.substr(0, functor.find("::{lambda"))), *in, state);
  }
  const TemplateName name = parse_template(functor);
  if (name.name == "BinaryFunctor" || name.name == "AUnaryFunctor" || name.name == "BUnaryFunctor")
    return two_arguments(name, state);
  return one_type(name, state);
}

}  // namespace softcuda
