// How the kernels of 2.18 and 2.19 cut a collective: all channels go through the data together,
// round by round. Source: the loops of all_reduce.h, all_gather.h, ... in src/collectives/device,
// from 2.19 src/device.
#pragma once

#include <sys/types.h>

#include <vector>

#include "work.h"

namespace softcuda {

struct RoundsWork {
  Function function;
  ssize_t count;            // elements
  ssize_t index, channels;  // of this channel, and how many there are
  ssize_t threads, nranks;
  ssize_t last_chunk;  // what NCCL's host side has computed, in elements
  ssize_t step_bytes;  // of a slot, flags included
};

std::vector<Stretch> cut_rounds(const RoundsWork& work);

}  // namespace softcuda
