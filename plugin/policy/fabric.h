// Which ports are the node's compute fabric, by what a person would look at; docs/policy.md has it
// in words. Internal to this room.
#pragma once

#include "policy/candidates.h"

namespace nnd::policy {

// Notes in each candidate that is still in how it differs from the compute fabric, and what
// follows.
void find_fabric(const facts::Node& node, Candidates& all);

}  // namespace nnd::policy
