// nccl-net-diag, the tool.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "cli/commands/options.h"
#include "cli/common/answer.h"
#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"
#include "cli/common/version.h"
#include "config/nearest.h"
#ifdef NND_RUNS_JOBS
#include "softcuda/job.h"
#endif

namespace {

namespace cli = nnd::cli;

// The first word that is no option should be a subcommand.
int no_such_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands({})) names.push_back(command->get_name());
  std::string wanted;
  for (int i = argc - 1; i > 0; --i)
    if (argv[i][0] != '-') wanted = argv[i];
  if (argc > 1 && wanted.empty()) {
    cli::print_err(std::string("nccl-net-diag: ") + argv[1] +
                   " needs a subcommand before it; --help shows them\n");
    return cli::kWrongCall;
  }
  if (wanted.empty()) {
    cli::print_err(app.help());
    return cli::kWrongCall;
  }
  const auto near = nnd::config::nearest(wanted, {names.begin(), names.end()});
  cli::print_err("nccl-net-diag: there is no subcommand \"" + wanted + "\"; " +
                 (near.empty() ? "--help shows them" : "did you mean " + near + "?") + "\n");
  return cli::kWrongCall;
}

// An option that the subcommand hasn't; nothing where that is not what is wrong.
std::optional<cli::CallError> no_such_option(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  for (const auto& word : command.remaining()) {
    if (word == "--") break;  // what follows is a program's
    if (!word.starts_with("--")) continue;
    const auto name = word.substr(0, word.find('='));
    const auto near = nnd::config::nearest(name, {names.begin(), names.end()});
    return cli::CallError(cli::kWrongCall, "option",
                          "there is no option " + name + "; " +
                              (near.empty() ? "--help shows them" : "did you mean " + near + "?"),
                          name, near);
  }
  return std::nullopt;
}

// What is wrong with a subcommand's words, in the form that all its errors have.
int wrong_call(const CLI::App& command, const CLI::ParseError& error, bool json) {
  cli::Calling calling;
  calling.command = command.get_name();
  calling.json = json;
  return cli::answer(calling, [&]() -> cli::Answer {
    throw no_such_option(command).value_or(cli::CallError(
        cli::kWrongCall, "option", std::string(error.what()) + "; --help shows all"));
  });
}

int run(int argc, char** argv) {
#ifdef NND_RUNS_JOBS
  if (const auto status = softcuda::run_as_rank()) return *status;
#endif
  CLI::App app("Tells why the network of a multi-node NCCL job is slow, stuck or dead.",
               "nccl-net-diag");
  app.set_version_flag("-V,--version", cli::tool_version());
  app.require_subcommand(1);
  int exit_code = cli::kFine;
#define NND_COMMAND(name) cli::add_##name(app, exit_code);
#include "commands.inc"
#undef NND_COMMAND
  if (argc == 2 && std::string_view(argv[1]) == "help") {
    cli::print_out(app.help());
    return cli::kFine;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // help, the version
      std::ostringstream text;
      const int code = app.exit(error, text, text);
      cli::print_out(text.str());
      return code;
    }
    if (app.get_subcommands().empty()) return no_such_command(app, argc, argv);
    const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
    return wrong_call(*app.get_subcommands().front(), error, json);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  cli::hold_standard_files();
  int code = cli::kNotExamined;
  try {
    code = run(argc, argv);
  } catch (const std::exception& error) {  // no subcommand foresaw it: no memory, no directory
    cli::print_err(std::string("nccl-net-diag: ") + error.what() + "\n");
  }
  const int failed = cli::flush_output();
  if (failed == 0) return code;
  cli::print_err(std::string("nccl-net-diag: standard output takes nothing: ") +
                 std::strerror(failed) + "\n");
  return cli::kNotExamined;
}
