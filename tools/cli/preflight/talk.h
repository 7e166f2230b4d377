// Which hosts come to each other, and from which HCAs talk to which: whose fault it is where they
// don't. Pure functions.
#pragma once

#include <vector>

#include "cli/preflight/allocation.h"

namespace nnd::cli {

// A host that nobody reaches where ranks would meet, or that reaches nobody, though others do, is
// at fault; else both are named.
std::vector<Finding> unmet(const std::vector<MeetingTry>& meetings);

// An HCA that reaches none of those that were tried, though these reach others, is at fault; else
// both ends are named.
std::vector<Finding> silent_hcas(const std::vector<PairResult>& pairs);

}  // namespace nnd::cli
