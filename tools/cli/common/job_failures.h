// What went wrong with a job, in sentences.
#pragma once

#include <string>
#include <vector>

#include "softcuda/job.h"

namespace nnd::cli {

// One sentence per cause: "ranks 0-1: ..."; empty when the job is fine. Ranks that were only
// ended because another had failed are not blamed.
std::vector<std::string> failures_of(const softcuda::JobResult& result, double deadline_sec);

}  // namespace nnd::cli
