// One channel's part of an all-gather or reduce-scatter by PAT.
#pragma once

#include "connection.h"
#include "work.h"

namespace softcuda {

void play_pat(const Communicator& comm, const Channel& channel, const CollectiveWork& work);

}  // namespace softcuda
