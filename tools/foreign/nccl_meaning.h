// What it means for a job that NCCL said something: whether anything failed, of which cause, and
// how sure that is.
#pragma once

#include <string_view>

#include "foreign/fact.h"
#include "foreign/nccl_sayings.h"

namespace nnd::foreign {

// fact: with the line's values, its text and its place.
void judge(Fact& fact, Says says, std::string_view text);

// A peer's, which reaches that host alone or none: loopback, docker's own bridge, link-local.
bool leads_to_no_other_host(std::string_view address);

}  // namespace nnd::foreign
