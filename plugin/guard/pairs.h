// Judging the two ends of a QP at its connection's first move to RTR.
#pragma once

#include "state/qp_table.h"

namespace nnd::guard {

// For verbs::Hooks: false where the policy refuses this pair (enforce only). A broken
// rule is told once per connection, before the kernel or NCCL lose time on it; a refusal
// is what the connection, and the call that this thread is inside, failed with. Thread-safe.
bool may_pair(const state::QpInfo& qp) noexcept;

}  // namespace nnd::guard
