// reduce_kernel of ATen/native/cuda/Reduce.cuh (PyTorch 2.7 to 2.15): sums, means, extremes and
// "all" over some dimensions of a tensor. What ReduceOp holds: the operation, where it begins, a
// configuration of 16 numbers, two calculators of offsets, source and destinations.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "element.h"
#include "offsets.h"
#include "played.h"

namespace softcuda {
namespace {

using Combine = std::function<double(double, double)>;

struct Reduction {
  Combine combine;
  double factor = 1;
  Element in, out;
  std::size_t inputs, outputs;
  Offsets input, output;
  const char* from;
  char* to;

  void play() const {
    for (std::size_t o = 0; o < outputs; ++o) {
      const char* first = from + output.at(o, 1);
      double sum = read_element<double>(in, first + input.at(0, 0));
      for (std::size_t i = 1; i < inputs; ++i)
        sum = combine(sum, read_element<double>(in, first + input.at(i, 0)));
      write_element(out, to + output.at(o, 0), sum * factor);
    }
  }
};

Combine combine_of(std::string_view operation) {
  if (operation.find("sum_functor") != std::string_view::npos ||
      operation.find("MeanOps<") != std::string_view::npos)
    return [](double a, double b) { return a + b; };
  if (operation.find("MaxNanFunctor") != std::string_view::npos)
    return [](double a, double b) { return b != b || b > a ? b : a; };
  if (operation.find("MinNanFunctor") != std::string_view::npos)
    return [](double a, double b) { return b != b || b < a ? b : a; };
  if (operation.find("and_kernel_cuda") != std::string_view::npos)
    return [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; };
  if (operation.find("or_kernel_cuda") != std::string_view::npos)
    return [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; };
  return nullptr;
}

template <typename T>
T value_at(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::size_t aligned(std::size_t at, std::size_t to) { return (at + to - 1) / to * to; }

}  // namespace

KernelWork reduction_work(const TemplateName& kernel, const KernelLaunch& launch) {
  if (kernel.name != "reduce_kernel" || kernel.arguments.size() != 3) return nullptr;
  // scalar, operation, index, result
  const auto arguments = parse_template(kernel.arguments[2]).arguments;
  if (arguments.size() < 4 || arguments[2] != "unsigned int") return nullptr;
  const auto in = element_named(arguments[0]), out = element_named(arguments[3]);
  Combine combine = combine_of(arguments[1]);
  if (!in || !out || !combine) return nullptr;
  const bool mean = arguments[1].find("MeanOps<") != std::string::npos;
  const auto* held = static_cast<const char*>(launch.parameters[0]);
  // What is summed up has the type that the framework computes in, and so has a mean's factor. The
  // functors of "all" and "any" give a bool, other operations hold nothing.
  const std::string_view operation = arguments[1];
  const bool logical = operation.find("and_kernel_cuda") != std::string_view::npos ||
                       operation.find("or_kernel_cuda") != std::string_view::npos;
  const Element summed = logical ? Element::kBool : computed_in(*in);
  constexpr std::size_t kConfiguration = 16 * sizeof(int);
  const std::size_t configuration = aligned(2 * bytes_of(summed), sizeof(int));
  const std::size_t input = configuration + kConfiguration, output = input + Offsets::bytes(1);
  const std::size_t from = aligned(output + Offsets::bytes(2), sizeof(char*));
  Reduction work{.combine = std::move(combine),
                 .factor = mean ? read_element<double>(summed, held) : 1,
                 .in = *in,
                 .out = *out,
                 .inputs = value_at<std::uint32_t>(held + configuration + sizeof(int)),
                 .outputs = value_at<std::uint32_t>(held + configuration + 2 * sizeof(int)),
                 .input = Offsets(held + input, 1),
                 .output = Offsets(held + output, 2),
                 .from = value_at<const char*>(held + from),
                 .to = value_at<char*>(held + from + sizeof(char*))};
  return [work = std::move(work)] { work.play(); };
}

}  // namespace softcuda
