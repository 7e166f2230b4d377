#include "cli/commands/options.h"
#include "cli/report/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kReport =
    "One verdict for a whole job, from its event logs and black boxes, or from NCCL's own log.\n\n"
    "Says what happened first, where, since when, and what to do; or that it was not the network.\n"
    "PATH: logs, black boxes, a job's output with NCCL's lines (NCCL_DEBUG=WARN or INFO),\n"
    "directories (with those below), patterns in quotes, - for standard input (event logs only);\n"
    "logs may be compressed (gzip, zstd). Of several jobs in them the last one counts,\n"
    "or the incarnation of it that failed last.\n\n"
    "Exit code 0: nothing was wrong; 1: a cause was found; 2: the call is wrong; 3: nothing "
    "that\n"
    "it knows could be read.";

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ReportOptions>();
  auto* const command =
      add_command(app, "report", kReport, exit_code,
                  [options](const Calling& calling) { return report_job(*options, calling); });
  command->add_option("PATH", options->paths, "logs, black boxes, directories, - for stdin")
      ->required();
  command
      ->add_option("--expect-ranks", options->expected_ranks,
                   "how many processes there should be; by default what the launcher said")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--job", options->job, "judge the job of this id; all are listed")
      ->type_name("ID");
  command
      ->add_option("--incarnation", options->incarnation,
                   "judge this run of it, from 1 on; by default the last that failed")
      ->check(CLI::Range(1, 1 << 20));
  command->add_flag("--why", options->why,
                    "what was observed, what explains what, and what was ruled out by what");
  command->add_option("--html", options->html, "the result as a page in this file, too")
      ->type_name("FILE");
  command
      ->add_option("--perfetto", options->perfetto,
                   "the time line as a trace in this file, too: ui.perfetto.dev opens it")
      ->type_name("FILE");
  command->add_flag("--follow", options->follow,
                    "of a running job: the verdict each time it changes, until Ctrl-C");
  command->parse_complete_callback(
      [options, command] { options->command = redacted_command_line(*command); });
}

}  // namespace nnd::cli
