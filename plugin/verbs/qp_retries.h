// What NCCL does after a call of ibv_modify_qp that failed.
#pragma once

#include "diagnosis/queue_pair.h"

namespace nnd::verbs {

diagnosis::Retries retries_after(int error) noexcept;

// Whether NCCL won't repeat a call that failed like this, the attempt-th in a row.
bool is_last_attempt(int error, unsigned attempt) noexcept;

// NCCL's version as ncclGetVersion codes it (22809), 0: unknown.
void set_nccl_version(int version) noexcept;

}  // namespace nnd::verbs
