// What each cause means, for people: docs/causes.md is made of it, and the default remedy of a
// diagnosis is taken from it. One entry per cause of nccl_net_diag/causes.h; a missing one does not
// compile.
#pragma once

#include <string_view>

#include "nccl_net_diag/causes.h"

namespace nnd::diagnosis {

struct Explanation {
  std::string_view means;       // what goes wrong
  std::string_view recognised;  // by what it is told here
  std::string_view remedy;
  // An event that names it, and its sentence; no sentence where nothing names it yet.
  nccl_net_diag::EventId event = nccl_net_diag::EventId::kCount;
  std::string_view example = {};
};

const Explanation& explain(nccl_net_diag::Cause cause) noexcept;

}  // namespace nnd::diagnosis
