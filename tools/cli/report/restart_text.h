// What whoever starts the job again should know, in words.
#pragma once

#include <string>
#include <vector>

#include "report/restart.h"

namespace nnd::cli {

// "It reaches a node (likely).", "Leave out node1."
std::vector<std::string> restart_lines(const report::Restart& restart);

}  // namespace nnd::cli
