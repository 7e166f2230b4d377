// Which HCAs of an allocation try each other: each with those of its name on two neighbours, so
// that a bad one fails twice and each of its neighbours once. Pure functions.
#pragma once

#include <vector>

#include "cli/ping/result.h"

namespace nnd::cli {

// Two rounds, or three where the number of hosts is odd; all pairs of a round at once.
std::vector<PingRound> ring_of(const std::vector<HostDescription>& hosts);

}  // namespace nnd::cli
