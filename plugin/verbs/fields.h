// What several of this layer's handlers share.
#pragma once

#include <string>

#include "record/fields.h"
#include "state/qp_table.h"
#include "verbs/verbs_abi.h"

namespace nnd::verbs {

// Marks the call that NCCL is making as failed by this verb.
void note_failure(const char* verb, int error) noexcept;

std::string device_name(const ibv_context* context);

}  // namespace nnd::verbs
