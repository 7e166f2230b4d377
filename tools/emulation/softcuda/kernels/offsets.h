// OffsetCalculator (ATen/cuda/detail/OffsetCalculator.cuh, PyTorch 2.7 to 2.15): where the elements
// of tensors that needn't be contiguous stand. Sizes come with what a division by them takes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace softcuda {

class Offsets {
 public:
  static constexpr int kMostDimensions = 25;
  static constexpr std::size_t bytes(std::size_t tensors) {
    return sizeof(std::int32_t) + kMostDimensions * (kDivider + tensors * sizeof(std::uint32_t));
  }

  Offsets() = default;  // all elements at 0
  Offsets(const char* calculator, std::size_t tensors) : tensors_(tensors) {
    std::int32_t dimensions = 0;
    std::memcpy(&dimensions, calculator, sizeof dimensions);
    if (dimensions < 0 || dimensions > kMostDimensions) return;
    sizes_.resize(static_cast<std::size_t>(dimensions));
    strides_.resize(sizes_.size() * tensors);
    const char* sizes = calculator + sizeof dimensions;
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      std::memcpy(&sizes_[i], sizes + i * kDivider, sizeof sizes_[i]);
    std::memcpy(strides_.data(), sizes + kMostDimensions * kDivider,
                strides_.size() * sizeof(std::uint32_t));
  }

  // In bytes, of an element of one of the tensors.
  std::size_t at(std::size_t element, std::size_t tensor) const {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < sizes_.size() && sizes_[i] > 0; ++i) {
      offset += element % sizes_[i] * strides_[i * tensors_ + tensor];
      element /= sizes_[i];
    }
    return offset;
  }

 private:
  static constexpr std::size_t kDivider = 3 * sizeof(std::uint32_t);

  std::size_t tensors_ = 0;
  std::vector<std::uint32_t> sizes_, strides_;
};

}  // namespace softcuda
