// GIN, device-initiated networking: NCCL 2.28.7 ... 2.29.3 takes it from the net plugin's library
// instead of its own, so ours hands its own back.
#pragma once

#include <cstdint>

#include "nccl_abi/gin_v11.h"

namespace nnd::inner {

// The init of the exported ncclGinPlugin_v11. Chooses the backend that NCCL would have chosen (by
// NCCL_GIN_TYPE, else GDAKI where it has devices, else the proxy), fills `exported` with its slots
// but for init, and calls its init. NCCL reads the slots after init only (v2.28.9-1
// src/plugin/net.cc), so calls go straight to the backend and null slots stay null; connect and
// createContext pass through here, so that the QPs made in them are known to be GIN's.
//
// An error, with nothing changed, where NCCL is to use its own: other versions of NCCL (2.29.7 and
// 2.30.3 choose after our init has failed), Socket, a type switched off. NCCL holds a lock
// meanwhile; caller as in find.h.
nccl_abi::Result init_gin(nccl_abi::GinV11& exported, void** ctx, std::uint64_t comm_id,
                          nccl_abi::DebugLogger log, const void* caller);

}  // namespace nnd::inner
