// Causes by the numbers of verbs and NCCL. Internal to this room.
#pragma once

#include <string_view>

#include "diagnosis/diagnosis.h"
#include "diagnosis/memory.h"

namespace nnd::diagnosis {

Cause qp_cause(int error) noexcept;            // of a QP that could not be moved
bool any_verb(Cause qp) noexcept;              // its remedy fits every verb on a QP
Cause registration_cause(int error) noexcept;  // of host memory, ENOMEM apart
Cause status_cause(int status) noexcept;       // enum ibv_wc_status
Cause result_cause(int rc) noexcept;           // ncclResult_t

// Of any verb, by its name.
Cause verb_cause(std::string_view verb, int error, const LockedMemory& locked) noexcept;

}  // namespace nnd::diagnosis
