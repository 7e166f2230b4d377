// One channel's share of an all-reduce by trees.
#pragma once

#include "work.h"

namespace softcuda {

void play_tree(const Communicator& comm, const Channel& channel, const CollectiveWork& work);

}  // namespace softcuda
