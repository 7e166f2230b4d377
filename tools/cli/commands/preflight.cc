#include "cli/commands/options.h"
#include "cli/common/scenario.h"
#include "cli/preflight/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kPreflight =
    "Whether a job should start on these nodes, and which to leave out.\n\n"
    "Under a launcher, or by ssh to each host of a file:\n"
    "  srun --ntasks-per-node=1 nccl-net-diag preflight --root HOST\n"
    "  nccl-net-diag preflight --hosts FILE\n"
    "  each node is examined as check does, all are compared, and each HCA moves data to those of\n"
    "  its name on two other nodes, through NCCL's own transport; then the nodes run a short NCCL\n"
    "  job. No GPU is needed.\n"
    "From what was examined before, without sending anything:\n"
    "  nccl-net-diag preflight --from DIR    (the output of check --json of each node)\n\n"
    "Exit code 0: go; 1: no-go, with the nodes to leave out and what to mend; 3: not all could be\n"
    "examined.";

}  // namespace

void add_preflight(CLI::App& app, int& exit_code) {
  constexpr double kLeastWait = 1, kMostWait = 3600;
  const auto options = std::make_shared<PreflightOptions>();
  auto* const command =
      add_command(app, "preflight", kPreflight, exit_code,
                  [options](const Calling& calling) { return preflight(*options, calling); });
  command
      ->add_option("--from", options->from,
                   "files or directories with what check --json has printed; - for standard input")
      ->type_name("PATH");
  command
      ->add_option(
          "--hosts", options->hosts,
          "a file with a host a line (also a hostfile of mpirun's), which this call reaches "
          "by ssh and starts itself on")
      ->type_name("FILE");
  command
      ->add_option("--root", options->root,
                   "HOST or HOST:PORT where task 0 can listen; by default what the launcher says, "
                   "with --hosts this host")
      ->type_name("HOST");
  command
      ->add_option("--token-file", options->token_file,
                   "its first line is the secret that all tasks know; by default the job's own")
      ->type_name("FILE");
  command
      ->add_option("--arrival", options->arrival,
                   "seconds within which the tasks must come; who doesn't is told")
      ->check(CLI::Range(kLeastWait, kMostWait))
      ->capture_default_str();
  command->add_option("--deadline", options->deadline, "seconds for everything")
      ->check(CLI::Range(kLeastWait, kMostWait))
      ->capture_default_str();
  command->add_option("--nccl", options->nccl, kNcclHelp)->type_name("FILE");
  command->add_option("--html", options->html, "the result as a page in this file, too")
      ->type_name("FILE");
  command->add_option("--scenario", options->scenario, kScenarioHelp)->type_name("NAME|FILE");
  command->parse_complete_callback(
      [options, command] { options->command = redacted_command_line(*command); });
}

}  // namespace nnd::cli
