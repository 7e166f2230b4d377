#include "element.h"

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "softcuda/half.h"

namespace softcuda {
namespace {

constexpr std::array<std::pair<std::string_view, Element>, 10> kNames{{
    {"unsigned char", Element::kUint8},
    {"signed char", Element::kInt8},
    {"short", Element::kInt16},
    {"int", Element::kInt32},
    {"long", Element::kInt64},
    {"c10::Half", Element::kFloat16},
    {"float", Element::kFloat32},
    {"double", Element::kFloat64},
    {"bool", Element::kBool},
    {"c10::BFloat16", Element::kBfloat16},
}};

template <typename F>
auto with_type(Element element, F function) {
  switch (element) {
    case Element::kUint8:
      return function(std::uint8_t{});
    case Element::kInt8:
      return function(std::int8_t{});
    case Element::kInt16:
      return function(std::int16_t{});
    case Element::kInt32:
      return function(std::int32_t{});
    case Element::kInt64:
      return function(std::int64_t{});
    case Element::kFloat16:
      return function(Float16{});
    case Element::kFloat32:
      return function(float{});
    case Element::kFloat64:
      return function(double{});
    case Element::kBool:
      return function(bool{});
    case Element::kBfloat16:
      break;
  }
  return function(Bfloat16{});
}

template <typename T, typename Number>
T narrowed(Number value) {
  if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (kIsFloat<T> && sizeof(T) == 2)
    return T(static_cast<float>(value));
  else if constexpr (std::is_integral_v<T> && std::is_same_v<Number, double>)
    return static_cast<T>(static_cast<std::int64_t>(value));
  else
    return static_cast<T>(value);
}

}  // namespace

std::optional<Element> element_named(std::string_view name) {
  for (const auto& [known, element] : kNames)
    if (known == name) return element;
  return std::nullopt;
}

std::optional<Element> element_numbered(int number) {
  for (const auto& [name, element] : kNames)
    if (static_cast<int>(element) == number) return element;
  return std::nullopt;
}

std::size_t bytes_of(Element element) {
  return with_type(element, [](auto zero) { return sizeof zero; });
}

bool has_fraction(Element element) {
  return with_type(element, [](auto zero) { return kIsFloat<decltype(zero)>; });
}

Element computed_in(Element element) {
  return element == Element::kFloat16 || element == Element::kBfloat16 ? Element::kFloat32
                                                                       : element;
}

template <typename Number>
Number read_element(Element element, const char* from) {
  return with_type(element, [from](auto value) {
    std::memcpy(static_cast<void*>(&value), from, sizeof value);
    if constexpr (kIsFloat<decltype(value)> && sizeof value == 2)
      return static_cast<Number>(float{value});
    else
      return static_cast<Number>(value);
  });
}

template <typename Number>
void write_element(Element element, char* to, Number value) {
  with_type(element, [to, value](auto zero) {
    const auto held = narrowed<decltype(zero)>(value);
    std::memcpy(to, &held, sizeof held);
  });
}

template double read_element<double>(Element, const char*);
template std::int64_t read_element<std::int64_t>(Element, const char*);
template void write_element<double>(Element, char*, double);
template void write_element<std::int64_t>(Element, char*, std::int64_t);

}  // namespace softcuda
