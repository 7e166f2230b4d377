// One exported function of the stand-in.
#pragma once

#include <atomic>

namespace softcuda {

struct Entry {
  std::atomic<const void*> target;  // null until it is called for the first time
  const char* name;
  long release;  // of the CUDA runtime: 12, 13; 0 for a function of the driver
};

}  // namespace softcuda

// What the call is to go on to.
extern "C" const void* softcuda_before_call(softcuda::Entry* entry);
