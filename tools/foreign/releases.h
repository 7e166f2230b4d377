// Whether the processes of a job run different releases of NCCL, by what they look for in a net
// plugin.
#pragma once

#include <optional>
#include <vector>

#include "foreign/fact.h"

namespace nnd::foreign {

// Unset: nothing failed that this explains, or nothing shows it.
std::optional<Fact> mixed_releases(const std::vector<Fact>& facts);

}  // namespace nnd::foreign
