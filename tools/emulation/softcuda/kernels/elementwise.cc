// The kernels of ATen/native/cuda/CUDALoops.cuh: each element by itself. Contiguous tensors
// (vectorized_, unrolled_elementwise_kernel, the latter with conversions), and others
// (elementwise_kernel).
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "offsets.h"
#include "operation.h"
#include "played.h"

namespace softcuda {
namespace {

struct Job {
  std::size_t count = 0;
  ElementOperation operation;
  std::vector<char*> data;         // what is written first
  std::vector<Element> stored;     // how each stands in memory
  std::optional<Offsets> offsets;  // none: one element behind the other
};

template <typename Number, typename Function>
void play_as(const Job& job, const Function& function) {
  const std::size_t inputs = job.operation.in.size();
  std::vector<std::size_t> sizes;
  for (const Element each : job.stored) sizes.push_back(bytes_of(each));
  std::vector<Number> values(inputs + 1);
  const auto place = [&](std::size_t element, std::size_t tensor) {
    return job.data[tensor] +
           (job.offsets ? job.offsets->at(element, tensor) : element * sizes[tensor]);
  };
  for (std::size_t i = 0; i < job.count; ++i) {
    for (std::size_t k = 0; k < inputs; ++k) {
      values[k] = read_element<Number>(job.stored[k + 1], place(i, k + 1));
      if (job.stored[k + 1] != job.operation.in[k])
        values[k] = rounded_to(job.operation.in[k], values[k]);
    }
    Number result = function(values.data());
    if (job.stored[0] != job.operation.out) result = rounded_to(job.operation.out, result);
    write_element(job.stored[0], place(i, 0), result);
  }
}

// All whole numbers but for what is stored: then those have a fraction that is cut off.
bool any_fraction(const Job& job) {
  for (const Element each : job.stored)
    if (has_fraction(each)) return true;
  return job.operation.fractions != nullptr;
}

void play(const Job& job) {
  if (job.operation.fractions) return play_as<double>(job, job.operation.fractions);
  if (!any_fraction(job)) return play_as<std::int64_t>(job, job.operation.integers);
  play_as<double>(job, [&](const double* in) {
    std::vector<std::int64_t> whole(in, in + job.operation.in.size() + 1);
    return static_cast<double>(job.operation.integers(whole.data()));
  });
}

void take_data(Job& job, const void* data) {
  job.data.resize(job.operation.in.size() + 1);
  std::memcpy(job.data.data(), data, job.data.size() * sizeof(char*));
  job.stored = {job.operation.out};
  job.stored.insert(job.stored.end(), job.operation.in.begin(), job.operation.in.end());
}

// LoadWithCast, StoreWithCast: the types in memory, as bytes.
bool take_stored(Job& job, const void* loader, const void* storer) {
  const auto* in = static_cast<const signed char*>(loader);
  const auto* out = static_cast<const signed char*>(storer);
  for (std::size_t i = 0; i < job.stored.size(); ++i) {
    const auto stored = element_numbered(i == 0 ? *out : in[i - 1]);
    if (!stored) return false;
    job.stored[i] = *stored;
  }
  return true;
}

// Contiguous: count, functor, data, and how to convert.
std::optional<Job> contiguous(const std::string& functor, bool unrolled, const TemplateName& kernel,
                              void** parameters) {
  Job job;
  auto operation = parse_operation(functor, static_cast<const char*>(parameters[1]));
  if (!operation) return std::nullopt;
  job.operation = std::move(*operation);
  take_data(job, parameters[2]);
  constexpr std::size_t kLoader = 5, kStorer = 6;
  if (unrolled && kernel.arguments.size() > kLoader &&
      kernel.arguments[kLoader].find("LoadWithCast") != std::string::npos &&
      !take_stored(job, parameters[kLoader], parameters[kStorer]))
    return std::nullopt;
  return job;
}

// The lambda of gpu_kernel_impl_nocast holds the offsets, the data and the functor.
std::optional<Job> strided(const std::string& lambda, const char* state) {
  constexpr std::string_view kMade = "gpu_kernel_impl_nocast<";
  const auto begin = lambda.find(kMade);
  if (begin == std::string::npos) return std::nullopt;
  const TemplateName made = parse_template(std::string_view(lambda).substr(begin));
  if (made.arguments.size() != 1) return std::nullopt;
  const std::string& functor = made.arguments.front();
  // How many tensors there are is known from the functor, whose own place depends on that.
  const char nothing[64] = {};
  const auto shape = parse_operation(functor, nothing);
  if (!shape) return std::nullopt;
  constexpr std::size_t kPointer = sizeof(char*);
  const std::size_t tensors = shape->in.size() + 1;
  const std::size_t data = (Offsets::bytes(tensors) + kPointer - 1) / kPointer * kPointer;
  Job job;
  job.operation = parse_operation(functor, state + data + tensors * kPointer).value();
  take_data(job, state + data);
  job.offsets.emplace(state, tensors);
  return job;
}

}  // namespace

KernelWork elementwise_work(const TemplateName& kernel, const KernelLaunch& launch) {
  std::optional<Job> job;
  if (kernel.name == "vectorized_elementwise_kernel" && kernel.arguments.size() >= 3)
    job = contiguous(kernel.arguments[1], false, kernel, launch.parameters);
  else if (kernel.name == "unrolled_elementwise_kernel" && kernel.arguments.size() >= 2)
    job = contiguous(kernel.arguments[0], true, kernel, launch.parameters);
  else if (kernel.name == "elementwise_kernel" && kernel.arguments.size() == 3)
    job = strided(kernel.arguments[2], static_cast<const char*>(launch.parameters[1]));
  if (!job) return nullptr;
  std::int32_t count = 0;
  std::memcpy(&count, launch.parameters[0], sizeof count);
  job->count = static_cast<std::size_t>(count);
  return [job = std::move(*job)] { play(job); };
}

}  // namespace softcuda
