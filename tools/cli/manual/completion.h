// What the shells complete when a user types Tab.
#pragma once

#include <string>

#include "cli/manual/command_line.h"

namespace nnd::cli {

std::string bash_completion(const CommandLine& line);
std::string zsh_completion(const CommandLine& line);
std::string fish_completion(const CommandLine& line);

}  // namespace nnd::cli
