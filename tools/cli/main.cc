// nccl-net-diag, the tool.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/check/command.h"
#include "cli/common/exit_code.h"
#ifdef NND_HAS_DEMO
#include "cli/demo/command.h"
#endif
#ifdef NND_HAS_PING
#include "cli/ping/command.h"
#endif
#ifdef NND_HAS_REHEARSE
#include "cli/rehearse/command.h"
#endif
#include "softcuda/job.h"

namespace {

int run(int argc, char** argv) {
  if (const auto status = softcuda::run_as_rank()) return *status;
  CLI::App app("Tells why the network of a multi-node NCCL job is slow, stuck or dead.");
  app.set_version_flag("--version", NND_VERSION);
  app.require_subcommand(1);
  int exit_code = nnd::cli::kFine;
  nnd::cli::add_check(app, exit_code);
#ifdef NND_HAS_DEMO
  nnd::cli::add_demo(app, exit_code);
#endif
#ifdef NND_HAS_PING
  nnd::cli::add_ping(app, exit_code);
#endif
#ifdef NND_HAS_REHEARSE
  nnd::cli::add_rehearse(app, exit_code);
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? nnd::cli::kFine : nnd::cli::kWrongCall;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {  // no subcommand foresaw it: no memory, no directory
    std::fprintf(stderr, "nccl-net-diag: %s\n", error.what());
    return nnd::cli::kNotExamined;
  }
}
