// The composition root: which room gets what from which other, and when. Everything starts at the
// plugin's first init and not before; a plugin that is to be wrapped is loaded when NCCL looks up
// our tables.
#pragma once

#include "inner/chain.h"

namespace nnd::session {

// Puts net's dependencies in place. When the library is loaded: starts nothing, reads nothing.
void wire();

// What NCCL finds where it looks up ncclNetPlugin_v<api> here (inner/chain.h). Thread-safe.
inner::Offer offer(int api) noexcept;

// Whether NCCL finds our ncclProfiler_v1 to v7 here. Where the wrapped plugin has some, it finds
// those, as it would without us.
bool offers_profiler() noexcept;

}  // namespace nnd::session
