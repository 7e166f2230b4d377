// CatArrayBatchedCopy and its kin (ATen/native/cuda/Shape.cu, PyTorch 2.7 to 2.15): up to 128
// contiguous tensors put side by side into one.
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "played.h"

namespace softcuda {
namespace {

constexpr std::size_t kTensors = 128, kDimensions = 4;

struct Inputs {  // CatArrInputTensorMetadata<T, unsigned, 128, 1>
  const char* data[kTensors];
  std::uint32_t offset[kTensors], length[kTensors], count[kTensors];
  bool contiguous[kTensors];
};
struct Shape {  // TensorSizeStride<unsigned, 4>: of the result
  std::uint32_t size[kDimensions], stride[kDimensions];
};

struct Joining {
  char* to;
  std::size_t element_bytes, tensors;
  Inputs inputs;
  Shape shape;
  std::size_t dimensions, dimension, step;

  // Where an element of a tensor goes, whose length in the joined dimension is its own.
  std::size_t place(std::size_t element, std::size_t length) const {
    std::size_t at = 0;
    for (std::size_t i = dimensions; i-- > 1;) {
      const std::size_t size = i == dimension ? length : shape.size[i];
      at += element % size * shape.stride[i];
      element /= size;
    }
    return at + element * shape.stride[0];
  }

  void play() const {
    for (std::size_t t = 0; t < tensors; ++t)
      for (std::size_t i = 0; i < inputs.count[t]; ++i)
        std::memcpy(to + (inputs.offset[t] * step + place(i, inputs.length[t])) * element_bytes,
                    inputs.data[t] + i * element_bytes, element_bytes);
  }
};

// "OpaqueType<4u>"
std::size_t opaque_bytes(std::string_view type) {
  const auto begin = type.find('<');
  std::size_t bytes = 0;
  if (begin != std::string_view::npos)
    std::from_chars(type.data() + begin + 1, type.data() + type.size(), bytes);
  return bytes;
}

}  // namespace

KernelWork joining_work(const TemplateName& kernel, const KernelLaunch& launch) {
  // element, index, dimensions, tensors, strides
  const auto& words = kernel.arguments;
  if (!kernel.name.starts_with("CatArrayBatchedCopy") || words.size() < 5 ||
      words[1] != "unsigned int" || words[3] != "128" || words[4] != "1")
    return nullptr;
  Joining work{.to = parameter<char*>(launch, 0),
               .element_bytes = opaque_bytes(words[0]),
               .tensors = launch.grid.y,
               .inputs = parameter<Inputs>(launch, 1),
               .shape = parameter<Shape>(launch, 2),
               .dimensions = static_cast<std::size_t>(words[2].front() - '0'),
               .dimension = static_cast<std::size_t>(parameter<int>(launch, 3)),
               .step = parameter<std::uint32_t>(launch, 4)};
  if (work.element_bytes == 0 || work.dimensions == 0 || work.dimensions > kDimensions ||
      work.tensors > kTensors)
    return nullptr;
  for (std::size_t t = 0; t < work.tensors; ++t)
    if (!work.inputs.contiguous[t]) return nullptr;
  return [work] { work.play(); };
}

}  // namespace softcuda
