#include "cli/commands/options.h"
#include "cli/launch/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kRun =
    "Runs a program with the plugin: run -- torchrun train.py\n\n"
    "It sets what NCCL needs to load the plugin, and then is that program: its output, its "
    "signals\n"
    "and its exit code are the program's. Under mpirun or srun it stands before the program, not\n"
    "before the launcher: srun nccl-net-diag run -- python train.py.\n\n"
    "NCCL_NET_PLUGIN is the plugin's absolute path, and NCCL_NET_PLUGIN_REF_COUNT is 1. Where the\n"
    "caller has set NCCL_NET_PLUGIN to another plugin, that one is wrapped (NCCL_NET_DIAG_INNER).";

constexpr const char* kEnv =
    "Prints what `run` sets, for a shell: eval \"$(nccl-net-diag env)\"\n\n"
    "For bash, dash, zsh and fish. To turn it off again: unset NCCL_NET_PLUGIN.";

void add_by_name(CLI::App& command, bool& by_name) {
  command.add_flag(
      "--by-name", by_name,
      "NCCL_NET_PLUGIN=diag, found through LD_LIBRARY_PATH: NCCL 2.18 to 2.20 (PyTorch "
      "2.1 to 2.4) take no path");
}

}  // namespace

void add_launch(CLI::App& app, int& exit_code) {
  struct Options {
    std::vector<std::string> program;
    bool by_name = false;
  };
  const auto run = std::make_shared<Options>();
  auto* const running = add_command(app, "run", kRun, exit_code, [run](const Calling&) {
    return run_program(run->program, run->by_name);
  });
  running->add_option("program", run->program, "behind --: the program and its arguments")
      ->type_name("PROGRAM")
      ->required();
  add_by_name(*running, run->by_name);
  const auto show = std::make_shared<Options>();
  auto* const showing = add_command(app, "env", kEnv, exit_code, [show](const Calling& calling) {
    return show_environment(calling, show->by_name);
  });
  add_by_name(*showing, show->by_name);
}

}  // namespace nnd::cli
