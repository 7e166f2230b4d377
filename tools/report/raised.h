// The exception that a rank's program ended with first, by the error files of all, else by the
// tracebacks in the job's output.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "foreign/evidence.h"

namespace nnd::report {

struct Raised {
  const foreign::Fact* told = nullptr;
  // Of those that raised the same then; empty: nothing tells them.
  std::set<int> ranks;
  bool on_node = false;   // they are those on their nodes
  bool one_node = false;  // all are of one, as far as the files' paths tell
  bool ended = true;      // a process; false: a program may have caught it, and printed it
  // It comes of the program alone: not of NCCL, nor of a socket or a time limit, nor after one
  // that does, nor in a rank whose collective had timed out.
  bool own = false;
  const foreign::Fact* worker = nullptr;  // its data loader's, that a kernel killed
};

// Unset: there is none. Points into the evidence; of several attempts the last one
// counts.
std::optional<Raised> raised_of(const foreign::Evidence& evidence);

}  // namespace nnd::report
