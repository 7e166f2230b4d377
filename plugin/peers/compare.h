// What two processes have said of the same thing, side by side. Pure functions.
#pragma once

#include "peers/message.h"

namespace nnd::peers {

// Whether one of these two ends has done its part, and the other says that nothing of it came. An
// HCA that does not complete what it was given has no answer from the other one.
bool disagree(const Link& here, const Link& there);

// What collectives of one communicator can't differ in.
bool differ(const Doing& a, const Doing& b);

// An order in which all have the same two ends.
bool less(const Doing& a, const Doing& b);

// The probe has passed that one, too: of one communicator only.
void widen(Probe& probe, const Who& who, const Doing& doing);

}  // namespace nnd::peers
