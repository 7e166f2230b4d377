// The command line: what can be asked of each subcommand. No other room of the tool knows CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "cli/common/answer.h"

namespace nnd::cli {

// Each adds its subcommand; `launch` adds run and env, `manual` what the others before it have.
// Parsing one stores in `exit_code` what running it gave.
#define NND_COMMAND(name) void add_##name(CLI::App& app, int& exit_code);
#include "commands.inc"
#undef NND_COMMAND

// Of --nccl, where a libnccl is run.
inline constexpr const char* kNcclHelp =
    "libnccl.so.2 to run: a file or its directory (default: what is found in LD_LIBRARY_PATH, the "
    "Python environment, the system)";

// A subcommand with the options that all have. `run` is called when it was parsed.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what,
                      int& exit_code, std::function<Answer(const Calling&)> run);

// As it was called, to be shown: "nccl-net-diag ping node1 --token ...". Once it is parsed.
std::string redacted_command_line(const CLI::App& command);

}  // namespace nnd::cli
