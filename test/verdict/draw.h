// From a seed to a job. Nothing here knows how it is judged.
#pragma once

#include <string>
#include <vector>

#include "verdict/case.h"

namespace nnd::verdict {

// releases: what there is to draw from. healthy: without a fault.
Case draw(unsigned long seed, const std::vector<std::string>& releases, bool healthy);

}  // namespace nnd::verdict
