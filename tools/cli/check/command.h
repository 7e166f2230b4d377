// nccl-net-diag check: what this node would do, and why, before any job runs.
#pragma once

#include <CLI/CLI.hpp>

namespace nnd::cli {

void add_check(CLI::App& app, int& exit_code);

}  // namespace nnd::cli
