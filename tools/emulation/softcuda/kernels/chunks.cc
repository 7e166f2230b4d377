// What a sharded model's parameters and gradients go through (ATen/native/cuda/TensorShape.cu,
// PyTorch 2.7 to 2.15): split_with_sizes_copy takes one buffer apart, _chunk_cat puts chunks of
// many tensors together. Where each is stands in arrays of the device, which earlier work of the
// stream has written.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "played.h"

namespace softcuda {
namespace {

using Number = std::int64_t;

KernelWork splitting_work(const KernelLaunch& launch) {
  auto* const* to = parameter<char* const*>(launch, 0);
  const auto* const* from = parameter<const char* const*>(launch, 1);
  const auto* bytes = parameter<const Number*>(launch, 2);
  const auto* part_of_block = parameter<const Number*>(launch, 3);
  const auto stride = parameter<Number>(launch, 5), chunks = parameter<Number>(launch, 6);
  return [=, blocks = launch.grid.x] {
    for (unsigned block = 0; block < blocks; ++block) {
      const Number part = part_of_block[block];
      if (block > 0 && part_of_block[block - 1] == part) continue;  // all of it is done
      for (Number i = 0; i < chunks; ++i)
        std::memcpy(to[part] + i * bytes[part], from[part] + i * stride,
                    static_cast<std::size_t>(bytes[part]));
    }
  };
}

KernelWork gathering_work(const KernelLaunch& launch) {
  const auto* const* from = parameter<const char* const*>(launch, 0);
  auto* to = parameter<char*>(launch, 1);
  const auto* tensor_of_block = parameter<const Number*>(launch, 2);
  const auto* begin = parameter<const Number*>(launch, 3);
  const auto* bytes = parameter<const Number*>(launch, 5);
  const auto* padded = parameter<const Number*>(launch, 6);
  const auto slice_bytes = parameter<Number>(launch, 8), chunk_bytes = parameter<Number>(launch, 9);
  return [=, grid = launch.grid] {
    for (unsigned block = 0; block < grid.x; ++block) {
      const Number tensor = tensor_of_block[block];
      if (block > 0 && tensor_of_block[block - 1] == tensor) continue;  // all of it is done
      for (Number slice = 0; slice < grid.z; ++slice)
        for (Number chunk = 0; chunk < grid.y; ++chunk) {
          const Number done = chunk * padded[tensor];
          const Number some = std::clamp<Number>(bytes[tensor] - done, 0, padded[tensor]);
          char* const at = to + slice * slice_bytes + chunk * chunk_bytes + begin[tensor];
          if (some > 0)
            std::memcpy(at, from[tensor] + slice * bytes[tensor] + done,
                        static_cast<std::size_t>(some));
          std::memset(at + some, 0, static_cast<std::size_t>(padded[tensor] - some));
        }
    }
  };
}

}  // namespace

KernelWork chunk_work(const TemplateName& kernel, const KernelLaunch& launch) {
  if (kernel.name == "split_with_sizes_copy_out_contiguous_no_cast_kernel")
    return splitting_work(launch);
  if (kernel.name == "chunk_cat_cuda_kernel" && kernel.arguments.size() == 2 &&
      kernel.arguments[0] == "char" && kernel.arguments[1] == "char")
    return gathering_work(launch);
  return nullptr;
}

}  // namespace softcuda
