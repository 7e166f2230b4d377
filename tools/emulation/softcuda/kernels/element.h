// The elements of a framework's tensors: read and written as one of two kinds of number, double for
// what has a fraction and 64-bit integers for what hasn't.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace softcuda {

// As c10::ScalarType numbers them (PyTorch 2.7 to 2.15, torch/headeronly/core/ScalarType.h,
// formerly c10/core/ScalarType.h).
enum class Element : std::uint8_t {
  kUint8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kBool = 11,
  kBfloat16 = 15
};

// By the C++ type's name: "unsigned char", "c10::BFloat16".
std::optional<Element> element_named(std::string_view name);
// None for a number that isn't in the list.
std::optional<Element> element_numbered(int number);
std::size_t bytes_of(Element element);
bool has_fraction(Element element);
// What PyTorch computes in: float for the floating-point types of 16 bits.
Element computed_in(Element element);

// Number: double or std::int64_t.
template <typename Number>
Number read_element(Element element, const char* from);
template <typename Number>
void write_element(Element element, char* to, Number value);

// The value as this type holds it.
template <typename Number>
Number rounded_to(Element element, Number value) {
  char held[8];
  write_element(element, held, value);
  return read_element<Number>(element, held);
}

}  // namespace softcuda
