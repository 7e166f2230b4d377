// multi_tensor_apply_kernel of ATen/native/cuda/MultiTensorApply.cuh and the functors of
// ForeachFunctors.cuh (PyTorch 2.7 to 2.15): one operation on each of a list of contiguous tensors,
// as optimizers do it. Each block has a chunk of one tensor.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "element.h"
#include "played.h"

namespace softcuda {
namespace {

using Compute = std::function<double(double, double)>;

constexpr std::int64_t kChunk = 65536;

// TensorListMetadata<Depth>, as small as all parameters of a kernel once had to be (2.7), and
// larger (by what launches of 2.15 hold): Depth lists, each with a tensor of the same length.
template <std::size_t Depth, bool Large>
struct Lists {
  static constexpr std::array<std::size_t, 3> kTensors =
      Large ? std::array<std::size_t, 3>{770, 448, 336} : std::array<std::size_t, 3>{110, 64, 48};
  static constexpr std::size_t kMost = kTensors[Depth - 1], kBlocks = Large ? 2240 : 320;
  char* data[Depth][kMost];
  std::int64_t count[kMost];
  std::conditional_t<Large, std::uint16_t, std::uint8_t> tensor_of_block[kBlocks];
  int chunk_of_block[kBlocks];

  // Whether the first blocks go through the tensors one after the other. Only that tells which of
  // the two sizes a launch has.
  bool is_in_order(std::size_t blocks) const {
    if (blocks > kBlocks) return false;
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t tensor = tensor_of_block[block];
      const int chunk = chunk_of_block[block];
      if (tensor >= kMost || chunk < 0 || chunk * kChunk >= count[tensor]) return false;
      if (block == 0 ? tensor != 0
                     : !(tensor == tensor_of_block[block - 1] + std::size_t{1} && chunk == 0) &&
                           !(tensor == tensor_of_block[block - 1] &&
                             chunk == chunk_of_block[block - 1] + 1))
        return false;
    }
    return true;
  }
};

struct Job {
  Element element;
  std::size_t blocks, inputs, result;
  Compute compute;

  template <std::size_t Depth, bool Large>
  void play(const Lists<Depth, Large>& lists) const {
    const std::size_t size = bytes_of(element);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t tensor = lists.tensor_of_block[block];
      const std::int64_t begin = lists.chunk_of_block[block] * kChunk;
      const std::int64_t end = std::min(begin + kChunk, lists.count[tensor]);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * size;
        const auto value = [&](std::size_t list) {
          return list < inputs ? read_element<double>(element, lists.data[list][tensor] + at) : 0;
        };
        const double first = value(0), second = Depth > 1 ? value(1) : 0;
        write_element(element, lists.data[result][tensor] + at, compute(first, second));
      }
    }
  }
};

std::size_t number(const std::string& text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// std::plus<float>
Compute compute_of(const std::string& name) {
  const std::string plain = parse_template(name).name;
  if (plain == "plus") return [](double a, double b) { return a + b; };
  if (plain == "minus") return [](double a, double b) { return a - b; };
  if (plain == "multiplies") return [](double a, double b) { return a * b; };
  if (plain == "divides") return [](double a, double b) { return a / b; };
  return nullptr;
}

// The kernel's parameters: lists, functor, and what the functor is called with.
std::optional<Job> read_job(const TemplateName& kernel, const TemplateName& functor,
                            const KernelLaunch& launch) {
  const auto element = element_named(functor.arguments[0]);
  if (!element || !has_fraction(*element)) return std::nullopt;
  Job job{*element, launch.grid.x, number(functor.arguments[2]), number(functor.arguments[3]), {}};
  if (functor.name == "ZeroFunctor") {
    job.inputs = 0;
    job.compute = [](double, double) { return 0.0; };
    return job;
  }
  if (kernel.arguments.size() < 3) return std::nullopt;
  const TemplateName operation = parse_template(kernel.arguments[2]);
  if (functor.name == "UnaryOpFunctor" && operation.name == "Copy" &&
      operation.arguments.size() == 2 && operation.arguments[0] == operation.arguments[1]) {
    job.compute = [](double a, double) { return a; };
    return job;
  }
  const Compute compute = compute_of(kernel.arguments[2]);
  if (!compute || kernel.arguments.size() != 4) return std::nullopt;
  constexpr std::size_t kScalar = 3;
  const double scalar = read_element<double>(computed_in(*element),
                                             static_cast<const char*>(launch.parameters[kScalar]));
  if (functor.name == "BinaryOpScalarFunctor")
    job.compute = [compute, scalar](double a, double) { return compute(a, scalar); };
  else if (functor.name == "BinaryOpListAlphaFunctor")
    job.compute = [compute, scalar](double a, double b) { return compute(a, scalar * b); };
  else
    return std::nullopt;
  return job;
}

template <std::size_t Depth, bool Large>
KernelWork work_on_these(const Job& job, const void* parameter) {
  auto lists = std::make_shared<Lists<Depth, Large>>();
  std::memcpy(static_cast<void*>(lists.get()), parameter, sizeof *lists);
  if (!lists->is_in_order(job.blocks)) return nullptr;
  return [job, lists] { job.play(*lists); };
}

// The small ones first: behind them there may be nothing that could be read.
template <std::size_t Depth>
KernelWork work_on(const Job& job, const void* parameter) {
  if (job.result >= Depth || job.inputs > Depth) return nullptr;
  if (KernelWork work = work_on_these<Depth, false>(job, parameter)) return work;
  return work_on_these<Depth, true>(job, parameter);
}

}  // namespace

KernelWork list_work(const TemplateName& kernel, const KernelLaunch& launch) {
  if (kernel.name != "multi_tensor_apply_kernel" || kernel.arguments.size() < 2) return nullptr;
  const TemplateName lists = parse_template(kernel.arguments[0]);
  const TemplateName functor = parse_template(kernel.arguments[1]);
  if (lists.name != "TensorListMetadata" || functor.arguments.size() != 4) return nullptr;
  const auto job = read_job(kernel, functor, launch);
  if (!job) return nullptr;
  switch (number(lists.arguments.front())) {
    case 1:
      return work_on<1>(*job, launch.parameters[0]);
    case 2:
      return work_on<2>(*job, launch.parameters[0]);
    case 3:
      return work_on<3>(*job, launch.parameters[0]);
    default:
      return nullptr;
  }
}

}  // namespace softcuda
