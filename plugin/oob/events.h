// The events init.stall, init.ready and init.fail.
#pragma once

#include <cstdint>

#include "state/bootstrap.h"

namespace nnd::oob {

void tell_stall(const state::Boot& boot, std::uint64_t age_ns);
// The bootstrap that the thread has got through.
void tell_ready(const state::Boot& boot) noexcept;
// A call that NCCL doesn't try again: on its thread, before it is told.
void tell_fail(const state::Boot& boot, const char* call, int error) noexcept;

}  // namespace nnd::oob
