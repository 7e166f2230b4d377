// Asks NCCL whose connection it is, at a request on it: its profiler interface leads from the
// handle that a request carries to the profiler layer, which knows.
#pragma once

#include "nccl_abi/common.h"
#include "state/connections.h"

namespace nnd::net {

// As passed to init, from net v10 on; null before.
void set_profiler_callback(nccl_abi::ProfilerCallback callback) noexcept;

// After a request was posted on an unlabelled connection. phandle: NCCL's of the step, null before
// net v10.
void ask_whose(state::Connection& c, void* phandle) noexcept;

}  // namespace nnd::net
