// This one file stands in for libcudart.so.12, libcudart.so.13, libcuda.so.1 and
// libnvidia-ml.so.1. The loader knows a library by the names it was loaded under: so once this file
// is in, it is loaded under each of these from the links beside it (DT_RPATH is $ORIGIN), and who
// asks for one of them later gets this, whatever RPATH it has.
#include <dlfcn.h>

#include <vector>

#include "softcuda/runtime_names.h"
#include "softcuda/stubs.h"
#include "softcuda/stubs/stub_abi.h"
#include "visible_gpus.h"

extern "C" void softcuda_set_gpus(const softcuda::StubGpus* gpus);

namespace softcuda {
namespace {

// NVML sees all GPUs of the node, whatever CUDA_VISIBLE_DEVICES says.
void show_nvml_gpus() {
  static auto& list = *new std::vector<StubGpu>;  // NVML keeps a pointer to it
  for (const PciAddress& gpu : node_gpus())
    list.push_back({gpu.domain, gpu.bus, gpu.device, gpu.function});
  const StubGpus given{list.data(), list.size(), kComputeMajor, kComputeMinor, node_has_nvswitch()};
  softcuda_set_gpus(&given);
}

__attribute__((constructor)) void take_names() {
  show_nvml_gpus();
  for (const char* name : kRuntimeNames) dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

// NCCL finds the libraries that it opens by name in this file.
std::string load_stubs() { return {}; }

}  // namespace softcuda
