// The data path: post_send, post_recv and poll_cq, which NCCL calls through the context's ops.
#pragma once

#include "verbs/verbs_abi.h"

namespace nnd::verbs {

// Distinct providers (real functions) per slot that can be told apart.
inline constexpr unsigned kMaxProviders = 8;

// Puts our functions into the three slots of a context that NCCL is about to use, and of no other.
// False: some slot was left as it is, because more than kMaxProviders different functions were met.
// Doing it twice changes nothing.
bool patch_ops(ibv_context& context);

}  // namespace nnd::verbs
