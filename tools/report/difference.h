// What only comparison shows: what a node or a process has that the others don't have, where that
// explains what fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/conclusion.h"
#include "report/deviation.h"

namespace nnd::report {

struct Difference {
  std::size_t odd = 0;                   // of the odd ones
  std::string cause;                     // the id of what that is called; empty: as it failed
  const log::Diagnosis* told = nullptr;  // what one of the odd says of it; null: nothing
  // Of two camps as big: which of Deviation::others is at fault; unset: nobody can tell.
  std::optional<std::size_t> guilty;
  std::optional<std::string> swapped;  // two HCAs of one node have each other's: the other one
};

// `failing`: what the job failed of, or waits for; empty: it ended, and nothing tells why. Then
// only what keeps paths from being made counts.
std::optional<Difference> difference_of(const Picture& picture, const std::vector<Deviation>& odd,
                                        const std::vector<Failure>& failing);

}  // namespace nnd::report
