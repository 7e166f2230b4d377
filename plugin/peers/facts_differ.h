// In what two processes with a connection between them differ, and what follows from it. Pure.
//
// Nodes of a job need not be alike, nor the variables of its ranks: a cause is named only where
// NCCL or the network needs both ends to have the same, and both are sure to have it or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_net_diag/causes.h"
#include "peers/facts.h"

namespace nnd::peers {

struct Difference {
  std::string what;                           // "NCCL_IB_TC", "GID type"
  std::optional<nccl_net_diag::Cause> cause;  // none: it may be meant
  std::string here, there;                    // empty: not to be told
};

// `variables`: this process's.
std::vector<Difference> differences(const ProcessFacts& here, const ProcessFacts& there,
                                    const Variables& variables);

}  // namespace nnd::peers
