// Where a run's logs stay.
#pragma once

#include <string>

namespace nnd::cli {

// A new directory for this run's logs below the one that the user named, so that neither another
// run's logs nor anybody's links are in it. Throws CallError.
std::string make_log_dir(const std::string& wanted);

}  // namespace nnd::cli
