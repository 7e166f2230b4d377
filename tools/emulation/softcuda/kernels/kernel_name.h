// A kernel's name, taken apart: "void at::native::vectorized_elementwise_kernel<4, F, A>(int, F,
// A)".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softcuda {

// Of a C++ template: its name without namespaces, and what stands between its brackets.
struct TemplateName {
  std::string name;
  std::vector<std::string> arguments;
};

// mangled or not; without return type and parameters.
TemplateName parse_kernel_name(const char* name);
// "at::native::BinaryFunctor<float, float, bool, F>"
TemplateName parse_template(std::string_view text);
// The parts of a list, by commas that are in no brackets.
std::vector<std::string> split_list(std::string_view text);

}  // namespace softcuda
