// NCCL 2.23 to 2.28.2 look for a profiler where NCCL_PROFILER_PLUGIN says, or in
// libnccl-profiler.so, and not in the library of their net plugin. Where nothing of that name is
// installed, they find this library by it.
#pragma once

#include "inner/module.h"

namespace nnd::session {

// Whether a libnccl-profiler.so is installed where that NCCL would find it. Loads it for a moment.
bool default_profiler_installed(const inner::Module& nccl);

// From now on that NCCL's dlopen of this name, where it finds nothing else, opens this library.
// False: NCCL has no import slot for dlopen, or it can't be written. Thread-safe.
bool stand_in_for_default_profiler(const inner::Module& nccl);

}  // namespace nnd::session
