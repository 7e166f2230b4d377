// The composition root: which room gets what from which other, and when. Everything starts at the
// plugin's first init and not before; a plugin that is to be wrapped is loaded when NCCL looks up
// our tables.
#pragma once

#include "inner/chain.h"
#include "session/profilers.h"

namespace nnd::session {

// Puts net's dependencies in place. When the library is loaded: starts nothing, reads nothing.
void wire();

// What NCCL finds where it looks up ncclNetPlugin_v<api> here (inner/chain.h). Thread-safe.
inner::Offer offer_net(int api) noexcept;

// The same of ncclProfiler_v<api> (profilers.h).
ProfilerOffer offer_profiler(int api) noexcept;

}  // namespace nnd::session
