// From what somebody reads to the causes that it may mean: an id, an errno, a status, a name, a
// line of NCCL's, or words of the causes themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nccl_net_diag/causes.h"

namespace nnd::cli {

struct Match {
  const nccl_net_diag::CauseEntry* entry = nullptr;
  std::string why;   // "errno 110 (ETIMEDOUT, Connection timed out)"
  int strength = 0;  // matches that are as strong can't be told apart
};

// The strongest first. None: nothing of ours.
std::vector<Match> search(const std::string& wanted);

// What may have been meant, for a typo; or empty.
std::string nearest_known(const std::string& wanted);

}  // namespace nnd::cli
