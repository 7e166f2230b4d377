#include "cli/exporter/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/exporter/exposition.h"
#include "cli/exporter/failures.h"
#include "cli/exporter/hcas.h"
#include "cli/exporter/http_server.h"
#include "cli/exporter/kept_file.h"
#include "cli/exporter/left_logs.h"
#include "cli/exporter/listen.h"
#include "cli/exporter/metrics.h"
#include "cli/exporter/otlp_push.h"
#include "cli/exporter/page.h"
#include "cli/top/look.h"

namespace nnd::cli {

namespace {

using Clock = std::chrono::steady_clock;

class Metrics {
 public:
  Families next() {
    const Look look = looker_.look();
    const View view = tracker_.see(look);
    totals_.add(view.processes);
    failures_.look(look.processes, view.processes, look.mono_ns);
    failures_.read_left(left_logs_.next(failures_.watched(), look.real_ns), look.mono_ns);
    hcas_.look(ports_in_use(view));
    Families out = metrics_of(view, totals_);
    for (Families more : {failures_.families(), hcas_.families()})
      for (Family& family : more) out.push_back(std::move(family));
    return out;
  }

 private:
  Looker looker_{{}};
  Tracker tracker_{geteuid()};
  Totals totals_;
  Failures failures_;
  LeftLogs left_logs_;
  Hcas hcas_;
};

// Callers get the last look: a scrape costs little, however many come. They are answered between
// two looks, in one thread: a look that hangs answers nobody, and is not taken for what is now.
class Served {
 public:
  Served(const Listening& at, bool quiet)
      : server_(at.fd, [this](const HttpRequest& request) { return page_.answer(request); }) {
    if (!quiet) print_err(at.page + "\n");
  }

  void show(const Families& families) { page_.show(families); }
  void until(Clock::time_point then) {
    while (Clock::now() < then && !InterruptGuard::interrupted())
      server_.run(std::min(kInterruptPause,
                           std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now())));
  }

 private:
  MetricsPage page_;
  HttpServer server_;
};

void look_again_and_again(const ExporterOptions& options, bool quiet) {
  const auto every =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.every_sec));
  std::optional<HttpUrl> receiver;
  if (options.otlp) receiver = otlp_url(*options.otlp);
  std::optional<KeptFile> file;
  if (!options.textfile.empty()) file.emplace(options.textfile);
  std::optional<Served> served;
  if (options.listen) served.emplace(listen_for_scrapes(*options.listen), quiet);
  std::optional<OtlpPush> push;
  if (receiver) push.emplace(*receiver, host_name());
  Metrics metrics;
  while (!InterruptGuard::interrupted()) {
    const auto due = Clock::now() + every;
    const Families families = metrics.next();
    if (file) file->write(families);
    if (push) push->send(families);
    if (served) {
      served->show(families);
      served->until(due);
    } else {
      InterruptGuard::sleep_until(due);
    }
  }
}

}  // namespace

Answer exporter(const ExporterOptions& options, const Calling& calling) {
  if (calling.json)
    throw CallError(kWrongCall, "json", "metrics have a format of their own: there is no --json");
  const InterruptGuard guard;
  if (options.textfile.empty() && !options.listen && !options.otlp)
    print_out(exposition(Metrics().next(), TextFormat::kPrometheus));
  else
    look_again_and_again(options, calling.quiet);
  return already_told(kFine);
}

}  // namespace nnd::cli
