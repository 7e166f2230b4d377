// Who went before others, as NCCL's own TCP connections show: they are closed by a process that
// ends, and by one that aborts its communicator, and NCCL fails in whoever still needs them.
#pragma once

#include <utility>
#include <vector>

#include "report/ends.h"

namespace nnd::report {

struct Gone {
  std::size_t who = 0;
  Ns at = 0;  // when its connections were found closed, and by whom first
  std::size_t seen_by = 0;
  // Who failed after that of itself, and of whom: of `who`, or of another of these.
  std::vector<std::pair<std::size_t, std::size_t>> after;
};

// Only who went by itself for sure. `ends`: as far as they are known without this.
std::vector<Gone> gone_of(const Picture& picture, const std::vector<End>& ends);

}  // namespace nnd::report
