#include "cli/commands/options.h"
#include "cli/exporter/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kExporter =
    "What this node's NCCL processes do over the network, as Prometheus' metrics.\n\n"
    "Without --textfile they are printed once. With it the file is replaced again and again until\n"
    "SIGTERM or Ctrl-C, for node_exporter's --collector.textfile.directory, and removed in the "
    "end.\n"
    "One is needed for a node. Only root sees the processes of all users.\n\n"
    "Exit code 0: metrics were given; 2: the call is wrong; 3: the file can't be written.";

}  // namespace

void add_exporter(CLI::App& app, int& exit_code) {
  constexpr double kShortest = 1, kLongest = 3600;
  const auto options = std::make_shared<ExporterOptions>();
  auto* const command =
      add_command(app, "exporter", kExporter, exit_code,
                  [options](const Calling& calling) { return exporter(*options, calling); });
  auto* const file =
      command->add_option("--textfile", options->textfile, "a file that is kept up to date")
          ->type_name("FILE.prom");
  command->add_option("--every", options->every_sec, "seconds between two looks; by default 15")
      ->type_name("SEC")
      ->check(CLI::Range(kShortest, kLongest))
      ->needs(file);
}

}  // namespace nnd::cli
