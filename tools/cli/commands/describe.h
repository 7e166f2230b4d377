// The command line as a table (cli/manual), read off CLI11's own.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/manual/command_line.h"

namespace nnd::cli {

CommandLine describe(const CLI::App& app);

}  // namespace nnd::cli
