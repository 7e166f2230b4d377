// Man pages in roff (man(7)).
#pragma once

#include <string>

#include "cli/manual/command_line.h"

namespace nnd::cli {

// The page of the program, with its subcommands.
std::string man_page(const CommandLine& line);
// The page of one subcommand: nccl-net-diag-check(1).
std::string man_page(const CommandLine& line, const CommandEntry& command);

}  // namespace nnd::cli
