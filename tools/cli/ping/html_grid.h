// The grids of a ping's page: which pairs can talk, and how fast, beside each other.
#pragma once

#include <string>
#include <vector>

#include "cli/ping/result.h"

namespace nnd::cli {

// One grid per two hosts and figure (bandwidth, latency), as markup.
std::string ping_grids_html(const std::vector<PairResult>& pairs);

}  // namespace nnd::cli
