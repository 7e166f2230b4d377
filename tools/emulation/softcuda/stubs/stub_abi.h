// What softcuda hands to its libnvidia-ml.so.1 and libcuda.so.
#pragma once

#include <cstddef>

namespace softcuda {

struct StubGpu {
  unsigned domain, bus, device, function;
};

struct StubGpus {
  const StubGpu* gpus;  // lives as long as the process
  std::size_t count;
  int compute_major, compute_minor;
  bool nvswitch;
};

// Same signature as cuGetProcAddress up to CUDA 12.0.
using DriverLookup = int (*)(const char* name, void** function, int version,
                             unsigned long long flags);

}  // namespace softcuda
