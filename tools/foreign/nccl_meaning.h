// What it means for a job that NCCL said something: whether anything failed, of which cause, and
// how sure that is.
#pragma once

#include <string_view>

#include "foreign/fact.h"
#include "foreign/nccl_sayings.h"

namespace nnd::foreign {

// fact: with the line's values, its text and its place.
void judge(Fact& fact, Says says, std::string_view text);

}  // namespace nnd::foreign
