// What a job's log advises, followed.
#pragma once

#include "scoreboard/entry.h"
#include "scoreboard/play.h"

namespace nnd::scoreboard {

// Every remedy of the broken job that is a variable to set or to unset is applied to it: what was
// told is then gone, nothing new is told, and the job works. Catch2 assertions. How many there
// were.
std::size_t check_remedies(const Entry& entry, const Seen& broken);

}  // namespace nnd::scoreboard
