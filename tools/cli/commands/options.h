// The command line: what can be asked of each subcommand. Nothing else knows CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "cli/common/answer.h"

namespace nnd::cli {

// Each adds its subcommand. Parsing it stores in `exit_code` what running it gave.
void add_check(CLI::App& app, int& exit_code);
void add_decode(CLI::App& app, int& exit_code);
void add_demo(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_exporter(CLI::App& app, int& exit_code);
void add_launch(CLI::App& app, int& exit_code);  // run and env
void add_ping(CLI::App& app, int& exit_code);
void add_preflight(CLI::App& app, int& exit_code);
// The man pages and the completions of what was added before.
void add_manual(CLI::App& app);
void add_rehearse(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_top(CLI::App& app, int& exit_code);

// Of --nccl, where a libnccl is run.
inline constexpr const char* kNcclHelp =
    "libnccl.so.2 to run: a file or its directory (default: what is found in LD_LIBRARY_PATH, the "
    "Python environment, the system)";

// A subcommand with the options that all have. `run` is called when it was parsed.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what,
                      int& exit_code, std::function<Answer(const Calling&)> run);

// As it was called, to be shown: "nccl-net-diag ping node1 --token ...". Once it is parsed.
std::string command_line(const CLI::App& command);

}  // namespace nnd::cli
