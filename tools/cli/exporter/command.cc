#include "cli/exporter/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/exporter/exposition.h"
#include "cli/exporter/hcas.h"
#include "cli/exporter/metrics.h"
#include "cli/exporter/textfile.h"
#include "cli/top/look.h"
#include "context/errno_text.h"

namespace nnd::cli {

namespace {

using Clock = std::chrono::steady_clock;

class Metrics {
 public:
  std::string next() {
    const View view = tracker_.see(looker_.look());
    totals_.add(view.processes);
    hcas_.look(ports_in_use(view));
    Families out = metrics_of(view, totals_);
    for (Family& family : hcas_.families()) out.push_back(std::move(family));
    return exposition(out);
  }

 private:
  Looker looker_{{}};
  Tracker tracker_{geteuid()};
  Totals totals_;
  Hcas hcas_;
};

void check_name(const std::string& path) {
  if (!path.ends_with(".prom"))
    throw CallError(kWrongCall, "textfile",
                    fmt::format("--textfile {}: node_exporter's textfile collector reads files "
                                "whose names end with .prom",
                                path),
                    path);
}

std::string not_written(const std::string& path, int error) {
  return fmt::format("{} can't be written: errno {}", path, context::errno_text(error));
}

// A file that can't be written for a while, on a full disk, ends nothing.
void keep_file(const ExporterOptions& options, Metrics& metrics) {
  const auto every =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.every_sec));
  int told = 0;
  for (bool first = true; !InterruptGuard::interrupted(); first = false) {
    const auto due = Clock::now() + every;
    const int error = replace_file(options.textfile, metrics.next());
    if (error != 0 && first)
      throw CallError(kNotExamined, "textfile", not_written(options.textfile, error));
    if (std::exchange(told, error) != error)
      print_err(error != 0 ? not_written(options.textfile, error) + "\n"
                           : options.textfile + " is written again\n");
    InterruptGuard::sleep_until(due);
  }
  ::unlink(options.textfile.c_str());  // what is there would look like now
}

}  // namespace

Answer exporter(const ExporterOptions& options, const Calling& calling) {
  if (calling.json)
    throw CallError(kWrongCall, "json", "metrics have a format of their own: there is no --json");
  const InterruptGuard guard;
  Metrics metrics;
  if (options.textfile.empty()) {
    print_out(metrics.next());
    return already_told(kFine);
  }
  check_name(options.textfile);
  keep_file(options, metrics);
  return already_told(kFine);
}

}  // namespace nnd::cli
