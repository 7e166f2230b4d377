// nccl-net-diag explain: what a cause means.
#pragma once

#include <string>

#include "cli/common/answer.h"

namespace nnd::cli {

// Empty: the list of all causes. Throws CallError for one that there isn't.
Answer explain_cause(const std::string& wanted);

}  // namespace nnd::cli
