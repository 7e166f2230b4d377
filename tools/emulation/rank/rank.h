// One rank of a job that the driver runs: a process that it starts, with its socket as
// descriptor 3. NND_RANK_SYSFS names the directory that libnccl is to take for /sys.
#pragma once

#include "driver/session.h"

namespace nnd::driver {

// All that main does; the value is the exit status.
int be_rank(MoreRequests more = {});

}  // namespace nnd::driver
