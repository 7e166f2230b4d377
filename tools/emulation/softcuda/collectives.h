// One channel's share of a ring collective.
#pragma once

#include "work.h"

namespace softcuda {

// Runs to the end or until the communicator is aborted.
void play_collective(const Communicator& comm, int channel, const CollectiveWork& work);

}  // namespace softcuda
