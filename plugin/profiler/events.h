// The events that tell of communicators, and what was counted of them. Not for NCCL's data path.
#pragma once

#include "state/communicator.h"

namespace nnd::profiler {

// Once, as soon as its hash is known.
void tell_init(state::Communicator& communicator);
// What it was asked for so far; nothing where that is nothing. last: it is gone afterwards.
void tell_counts(const state::Communicator& communicator, bool last);
// What has become known of all, and now and then what they were asked for. One thread.
void look(std::uint64_t mono_ns);
void tell_finalize(const state::Communicator& communicator);

}  // namespace nnd::profiler
