// nccl-net-diag explain: what a cause means.
#pragma once

#include <string>

#include "cli/common/answer.h"

namespace nnd::cli {

// A cause's id, an errno, a completion's status, a line of NCCL's, or words. Empty: the list of all
// causes. Throws CallError where nothing fits.
Answer explain_cause(const std::string& wanted);

}  // namespace nnd::cli
