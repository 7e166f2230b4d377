// Values that NCCL reads otherwise than they are written, or not at all. Internal to this room.
#pragma once

#include <vector>

#include "policy/lint.h"

namespace nnd::policy {

std::vector<Lint> lint_values(const facts::Node& node, const facts::Environment& environment);

}  // namespace nnd::policy
