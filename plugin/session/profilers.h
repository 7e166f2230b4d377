// Which profiler NCCL finds here, and whether it comes for one: NCCL_NET_DIAG_PROFILER, and what
// NCCL itself is told.
#pragma once

#include "config/settings.h"
#include "nccl_abi/common.h"

namespace nnd::session {

// What NCCL is to find where it looks up ncclProfiler_v<api> here. It asks for its own version
// first, then for older ones, and converts what it gets. Where another profiler is called as well
// it therefore finds the versions that this one has and no others.
struct ProfilerOffer {
  bool own = false;              // our table of this version
  const void* other = nullptr;   // own: the other profiler's table, which ours calls; null: none
  int nccls_api = 0;             // the newest that was looked for
  const void* theirs = nullptr;  // not own: the wrapped net plugin's table
};
ProfilerOffer offer_profiler(const config::Settings& settings, int api);

// Whether the NCCL that calls from there will look for a profiler here; sees to it where one that
// looks for libnccl-profiler.so would find none. caller: an address in it.
bool bring_profiler(const config::Settings& settings, int nccl_version, const void* caller);

// Of an NCCL that doesn't: whether a variable would bring it here, and it is not set: nobody has
// asked for another, or one is to be called that NCCL takes itself.
bool lacks_profiler(const config::Settings& settings, int nccl_version);

// Events, each once: the other profiler can't be called, or its init has failed.
void tell_other_profiler(const config::Settings& settings);
void tell_other_failed(const config::Settings& settings, nccl_abi::Result rc);

}  // namespace nnd::session
