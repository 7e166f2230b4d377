// A completion that failed: the event wc.error.
#pragma once

#include "state/qp_table.h"
#include "verbs/verbs_abi.h"

namespace nnd::verbs {

// Counts it; tells the first of each QP. Of the completion only wr_id, status, qp_num and
// vendor_err are defined. `record` may be null: a QP whose creation wasn't seen.
void completion_failed(const ibv_context* context, state::Qp* record, const ibv_wc& wc) noexcept;

}  // namespace nnd::verbs
