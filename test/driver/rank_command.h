// The program of the tests' ranks.
#pragma once

#include <string>
#include <vector>

namespace nnd::driver {

// The words in front of a program that is not for this machine ($NND_EMULATOR), else none.
std::vector<std::string> emulator();

// What starts nnd-test-rank, of this build.
std::vector<std::string> rank_command();

}  // namespace nnd::driver
