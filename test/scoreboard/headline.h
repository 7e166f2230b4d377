// The first paragraph that `report` prints of a mode's job, as a user reads it.
#pragma once

#include <string>

#include "scoreboard/entry.h"
#include "scoreboard/play.h"

namespace nnd::scoreboard {

// What it lacks, or has and shouldn't; empty: it is right.
std::string wrong_with_headline(const Headline& expected, const Seen& seen);

}  // namespace nnd::scoreboard
