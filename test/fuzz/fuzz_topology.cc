// An NCCL topology file may come from anywhere: its GPUs' places are taken out of it, and nothing
// else.
#include <cstdint>
#include <string_view>

#include "softcuda/gpu_places.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  softcuda::gpus_of_topology({reinterpret_cast<const char*>(data), size});
  return 0;
}
