// Send and receive: all transfers of a batch at the same time, as NCCL gives each its own warps.
#pragma once

#include "work.h"

namespace softcuda {

void play_transfers(const Communicator& comm, int channel, const Batch& batch);

}  // namespace softcuda
