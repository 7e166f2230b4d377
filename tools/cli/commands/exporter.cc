#include "cli/commands/options.h"
#include "cli/exporter/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kExporter =
    "What this node's NCCL processes do over the network, as Prometheus' metrics.\n\n"
    "Without --listen, --textfile and --otlp they are printed once. With any of them it lasts\n"
    "until SIGTERM or Ctrl-C. --listen serves /metrics, as OpenMetrics or Prometheus' text, to "
    "who\n"
    "scrapes; whoever reaches the port can read them. --textfile replaces a file again and again,\n"
    "for node_exporter's --collector.textfile.directory, and removes it in the end. --otlp sends\n"
    "them to a receiver of OTLP/HTTP, such as an OpenTelemetry Collector. One is needed for a "
    "node.\n"
    " Only root sees the processes of all users.\n\n"
    "Exit code 0: metrics were given; 2: the call is wrong; 3: the file can't be written, or the\n"
    "port can't be had.";

}  // namespace

void add_exporter(CLI::App& app, int& exit_code) {
  constexpr double kShortest = 1, kLongest = 3600;
  const auto options = std::make_shared<ExporterOptions>();
  auto* const command =
      add_command(app, "exporter", kExporter, exit_code,
                  [options](const Calling& calling) { return exporter(*options, calling); });
  command
      ->add_option("--listen", options->listen,
                   "where scrapes are answered; without an ADDRESS: 127.0.0.1; port 0: a free one")
      ->type_name("[ADDRESS:]PORT");
  command->add_option("--textfile", options->textfile, "a file that is kept up to date")
      ->type_name("FILE.prom");
  command->add_option("--otlp", options->otlp, "where they are sent, as OTLP in JSON")
      ->type_name("URL");
  auto* const every =
      command->add_option("--every", options->every_sec, "seconds between two looks; by default 15")
          ->type_name("SEC")
          ->check(CLI::Range(kShortest, kLongest));
  command->parse_complete_callback([options, every] {
    if (every->count() != 0 && !options->listen && !options->otlp && options->textfile.empty())
      throw CLI::RequiresError("--every", "--listen, --textfile or --otlp");
  });
}

}  // namespace nnd::cli
