// Directories keep logs of many jobs, and of one job that was started again.
#pragma once

#include <vector>

#include "log/job.h"

namespace nnd::report {

using Run = std::vector<const log::Process*>;

// The processes that ran as one job, each such group; that which was alive last comes last.
std::vector<Run> runs_of(const log::Job& job);

}  // namespace nnd::report
