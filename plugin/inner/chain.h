// What to wrap, by NCCL_NET_DIAG_INNER: "auto", "IB", "Socket", or a net plugin by NCCL's own
// naming rules (the name as it is, then libnccl-net-NAME.so).
//
// auto: what NCCL would use without us. That is libnccl-net.so, which NCCL loads when nothing is
// set, where there is one, it has a version of the net API that this NCCL takes, and NCCL_NET, if
// that is set, is its name; else NCCL's own IB. This very plugin is never wrapped.
//
// Thread-safe. Loads libraries, so not for the data path.
#pragma once

#include <string_view>

#include "inner/find.h"

namespace nnd::inner {

// What NCCL is to find where it looks up a version of the net API in this library. It asks for its
// own version first, then for older ones, and converts what it gets. Where a plugin is wrapped it
// therefore finds the versions that this one has and no others, and converts as it would without
// us.
struct Offer {
  bool own = false;            // our table of this version
  const char* name = nullptr;  // own: what the table is to be named; NCCL compares it with NCCL_NET
  const void* theirs =
      nullptr;  // not own: the plugin's table as it is, of a version too old to wrap
};
Offer choose_offer(std::string_view setting, int net_version);

// Another symbol that NCCL looks up in its net plugin (CollNet, tuner, GIN): the wrapped plugin's,
// once NCCL has found its table; else null. Tuner and profiler also of one that NCCL_NET keeps out.
void* plugin_symbol(const char* name);
bool plugin_offered();

// caller and net_version as in find.h. Found::method is kPlugin for a plugin. The first NCCL for
// which something is found is the one that is wrapped.
Found find_inner(std::string_view setting, const void* caller, int net_version);

// What the last find_inner that succeeded has found; an empty Found before.
Found wrapped();

}  // namespace nnd::inner
