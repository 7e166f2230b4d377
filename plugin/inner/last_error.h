// What NCCL warned of last, in its own words: ncclGetLastError, of NCCL 2.13 and newer, whose text
// is one for the process and all its threads (ncclLastError, v2.28.9-1 src/debug.cc).
#pragma once

#include <string>

#include "inner/module.h"

namespace nnd::inner {

// The image that is asked from then on; it stays loaded. Once, the first counts.
void ask_for_errors(const Module& nccl) noexcept;

// One line, cut to fit a sentence; empty: there was no warning, or nobody to ask. Any thread: where
// another one warns meanwhile it may be of both.
std::string last_error();

}  // namespace nnd::inner
