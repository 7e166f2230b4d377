// How a process of the job ended, as who started it tells, or who caught its signal.
#pragma once

#include "foreign/evidence.h"

namespace nnd::report {

// ended: of What::kEnded. By a signal that nobody sends who asks a process to end: it did so
// itself, or ran out of memory.
bool is_crash(const foreign::Fact& ended);

// The first, and of those at one time, or without one, a crash before all else; null: none is told.
const foreign::Fact* ended_of(const foreign::Evidence& evidence);

}  // namespace nnd::report
