// nccl-net-diag demo
#pragma once

#include <CLI/CLI.hpp>

namespace nnd::cli {

// Adds the subcommand. Parsing it stores in `exit_code` what running it gave.
void add_demo(CLI::App& app, int& exit_code);

}  // namespace nnd::cli
