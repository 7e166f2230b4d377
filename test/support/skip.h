// NND_SKIP: for a case that can't be run on this machine.
#pragma once

#include <string>

namespace nnd::test {

// Remembers the running case as skipped and prints the reason.
void skipped(const std::string& reason);

}  // namespace nnd::test

// Ends the case; the program then exits with kSkipped, unless a case fails.
#define NND_SKIP(reason)            \
  do {                              \
    ::nnd::test::skipped((reason)); \
    return;                         \
  } while (false)
