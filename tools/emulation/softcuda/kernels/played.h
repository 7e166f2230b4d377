// The kernels of PyTorch that are played, a file for each way in which they go through memory. Each
// reads at the launch what there is to do, and gives a function that does it, or none where that
// isn't played.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>

#include "kernel_name.h"
#include "softcuda/cuda_abi.h"

namespace softcuda {

struct KernelLaunch {
  Dim3 grid;
  void** parameters;  // as cudaLaunchKernel has them; gone when it returns
};
template <typename T>
T parameter(const KernelLaunch& launch, std::size_t index) {
  T value;
  std::memcpy(&value, launch.parameters[index], sizeof value);
  return value;
}

using KernelWork = std::function<void()>;

KernelWork elementwise_work(const TemplateName& kernel, const KernelLaunch& launch);
KernelWork reduction_work(const TemplateName& kernel, const KernelLaunch& launch);
KernelWork joining_work(const TemplateName& kernel, const KernelLaunch& launch);
KernelWork list_work(const TemplateName& kernel, const KernelLaunch& launch);
KernelWork chunk_work(const TemplateName& kernel, const KernelLaunch& launch);

}  // namespace softcuda
