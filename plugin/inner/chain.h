// What to wrap, by NCCL_NET_DIAG_INNER.
#pragma once

#include <string_view>

#include "inner/find.h"

namespace nnd::inner {

// setting: "auto", "IB", "Socket", or another plugin by NCCL's own naming rules: the name as it is,
// then libnccl-net-NAME.so. auto: libnccl-net.so, which NCCL loads when nothing is set, where there
// is one with the version asked for; else IB. The plugin itself is never chosen.
//
// Found::method is kPlugin for a plugin; it stays loaded for good. With auto, Found::note says when
// libnccl-net.so is there but can't be wrapped (cause DEV-PLUGIN). caller and net_version as in
// find.h. Thread-safe; the first call decides, later ones give the same. Loads libraries, so not
// for the data path.
Found find_inner(std::string_view setting, const void* caller, int net_version);

// What the last find_inner that succeeded has found; an empty Found before. Thread-safe.
Found wrapped();

}  // namespace nnd::inner
