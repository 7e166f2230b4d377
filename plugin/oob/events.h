// The events init.stall, init.ready, init.fail and oob.closed.
#pragma once

#include <cstdint>

#include "state/bootstrap.h"

namespace nnd::oob {

void tell_init_stall(const state::Boot& boot, std::uint64_t age_ns);
// The bootstrap that the thread has got through.
void tell_init_done(const state::Boot& boot) noexcept;
// A call that NCCL doesn't try again: on its thread, before it is told.
void tell_fail(const state::Boot& boot, const char* call, int error) noexcept;
// NCCL's connection to a listener of another process, which that one has closed. error: 0, or that
// of a connection that was reset.
void tell_closed(const state::SocketAddress& listener, int error);

}  // namespace nnd::oob
