// The exception that a rank's program ended with first, by the error files of all.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "foreign/evidence.h"

namespace nnd::report {

struct Raised {
  const foreign::Fact* told = nullptr;
  // Of those that raised the same then: on their nodes; empty: the files' paths tell none.
  std::set<int> local_ranks;
  bool one_node = false;  // all files are of one, as far as their paths tell
  // It comes of the program alone: not of NCCL, nor of a socket or a time limit, nor after one
  // that does.
  bool own = false;
  const foreign::Fact* worker = nullptr;  // its data loader's, that a kernel killed
};

// Unset: there are no such files. Points into the evidence; of several attempts the last one
// counts.
std::optional<Raised> raised_of(const foreign::Evidence& evidence);

}  // namespace nnd::report
