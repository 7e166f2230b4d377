// From a seed to a job. Nothing here knows how it is judged.
#pragma once

#include <string>
#include <vector>

#include "verdict/case.h"

namespace nnd::verdict {

// releases: what there is to draw from. healthy: without a fault.
// only_fault: the one that all have; empty: it is drawn too.
Case draw(unsigned long seed, const std::vector<std::string>& releases, bool healthy,
          const std::string& only_fault = {});

}  // namespace nnd::verdict
