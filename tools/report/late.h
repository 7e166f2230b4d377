// Processes that their senders waited for far longer than for others: they post receives late.
#pragma once

#include <cstddef>
#include <vector>

#include "report/picture.h"

namespace nnd::report {

struct Late {
  std::size_t member = 0;
  double sec = 0, usual_sec = 0;  // that senders waited for it in all, and for most others
  double effect = 0;              // how far off, in deviations of the others
  std::size_t members = 0;        // that it is compared with
};

// Whom a process's summary names as coming last to collectives, as the processes told each other
// while the job ran: the word of who has compared most; null: none does.
const log::Latecomer* latecomer(const Picture& picture);

// The latest first. It is its GPU or its program; no network makes a receive late.
std::vector<Late> late_members(const Picture& picture);

}  // namespace nnd::report
