// What PyTorch's functors compute, told by their names and by what they hold.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "element.h"

namespace softcuda {

struct ElementOperation {
  std::vector<Element> in;
  Element out;
  // By which kind of number the elements are; the other one is null.
  std::function<double(const double*)> fractions;
  std::function<std::int64_t(const std::int64_t*)> integers;
};

// functor: as the demangled kernel names it. state: the functor's own bytes, as the launch gets
// them. Empty when it isn't played.
std::optional<ElementOperation> parse_operation(std::string_view functor, const char* state);

}  // namespace softcuda
