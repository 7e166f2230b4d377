// Finds a libnccl that the program has loaded, before the program calls it.
#pragma once

namespace softcuda {

// To be called before each call of the runtime: cheap where nothing was loaded since the last one.
// A libnccl that is new is taken over (take_over.h); one that can't be is said on stderr.
void watch_for_nccl();

}  // namespace softcuda
