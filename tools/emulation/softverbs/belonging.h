// The files that belong to the running program.
#pragma once

#include <filesystem>

namespace softverbs {

// As installed, below the prefix of <prefix>/bin/program. Else, for a program in the tree where it
// was built, the one from there: for a copy of it that path may be anybody's by now, on any
// machine.
std::filesystem::path belonging(const char* installed, const char* built);

}  // namespace softverbs
