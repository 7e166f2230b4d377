// Physical functions and virtual ones of them, where NCCL would take both. Internal to this room.
#pragma once

#include <vector>

#include "diagnosis/device.h"
#include "policy/candidates.h"

namespace nnd::policy {

// Those of which one thing is true, told once.
struct PciFunctions {
  std::vector<Candidate*> odd;  // not meant; where that can't be told, the virtual ones
  diagnosis::VirtualBesidePhysical seen;
};

// Meant is the function whose address is one of this network namespace.
std::vector<PciFunctions> sets_of_functions(Candidates& all);

}  // namespace nnd::policy
