#include "cli/demo/command.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/event_json.h"
#include "cli/common/exit_code.h"
#include "cli/common/find_nccl.h"
#include "cli/common/interrupt.h"
#include "cli/common/job_progress.h"
#include "cli/common/parts.h"
#include "cli/common/printable.h"
#include "cli/common/scenario.h"
#include "cli/common/scratch_dir.h"
#include "cli/common/text_table.h"
#include "cli/common/troubles.h"
#include "cli/demo/job.h"
#include "cli/demo/report.h"
#include "cli/report/job_report.h"
#include "driver/nccl_cache.h"
#include "log/reader.h"

namespace nnd::cli {

namespace {

using nlohmann::json;

constexpr const char* kPreferredNccl = "2.28.9";  // the one that `./dev demo` fetches

std::string choose_nccl(const std::string& wanted) {
  if (wanted.empty())
    if (const auto cached = driver::cached_nccl(kPreferredNccl)) return *cached;
  return find_nccl(wanted, [](const char* name) { return variable(name); });
}

std::string choose_scenario(const DemoOptions& options) {
  constexpr int kRanksOfTwoNodes = 16;
  if (!options.scenario.empty()) return options.scenario;
  return options.ranks > kRanksOfTwoNodes ? "eight-nodes-8-hca-bond" : "two-nodes-8-hca-bond";
}

Answer list_of_scenarios() {
  Answer out;
  out.judges = false;
  out.body["scenarios"] = json::array();
  for (const auto& file : scenarios())
    out.body["scenarios"].push_back({{"name", file.stem().string()},
                                     {"description", load_scenario(file).description},
                                     {"file", file.string()}});
  out.verdict =
      fmt::format("{} scenarios; --scenario NAME plays one.", out.body["scenarios"].size());
  out.page = [list = out.body["scenarios"]](const Screen& screen) {
    TextTable table({"scenario", "what it shows"});
    for (const auto& one : list) table.add({one["name"], one["description"]});
    return table.render(screen);
  };
  return out;
}

// What came of the job.
std::string verdict_of(const DemoJob& demo, const log::Job& job,
                       const std::vector<std::string>& failures, const JobReport& report) {
  if (!failures.empty()) return report.failed("The job failed", failures);
  if (demo.mode == "off")
    return "The job ran without the shim: every byte was right where it arrived.";
  return fmt::format("The job ran: {}, every byte right where it arrived.{}", what_was_used(job),
                     report.in_spite());
}

}  // namespace

Answer demo(const DemoOptions& options, const Calling& calling) {
  if (options.list) return list_of_scenarios();
  require_plugin();
  DemoJob demo;
  demo.scenario = load_scenario(choose_scenario(options));
  demo.nccl = choose_nccl(options.nccl);
  demo.ranks = options.ranks;
  demo.mode = options.mode;
  const InterruptGuard guard;
  ScratchDir logs("demo");
  demo.log_dir = logs.path();
  JobProgress progress(calling, demo_deadline(demo));
  const auto failures = run_demo_job(
      demo, [&](const json& event) { progress.show(event); }, [&] { return progress.stop(); });
  // Also those of a job that failed or was ended: they say why.
  logs.keep();
  log::Job job;
  const auto counts =
      log::read_logs({demo.log_dir}, [&](const log::Event& event) { job.add(event); });

  const auto report = report_of(demo.log_dir.string());
  Answer out;
  const bool interrupted = InterruptGuard::interrupted();
  out.verdict = interrupted ? progress.interrupted() : verdict_of(demo, job, failures, report);
  out.exit_code = interrupted                                   ? kNotExamined
                  : failures.empty()                            ? kFine
                  : counts.events == 0 && options.mode != "off" ? kNotExamined
                                                                : kBroken;
  out.warned = !troubles_of(job).empty();
  out.body = to_json(job);
  out.body["events"] = counts.events;
  out.body["logs"] = demo.log_dir.string();
  out.body["scenario"] = demo.scenario.file.string();
  out.body["failures"] = failures;
  if (!report.body.is_null()) out.body["report"] = report.body;
  const auto lost = left_out(counts);
  const auto places = fmt::format(
      "Event logs: {0}/rank*.jsonl ({1} events{2}{3}); NCCL's own: {0}/rank*.out\n",
      demo.log_dir.string(), counts.events, lost.empty() ? "" : "; lines left out: ", lost);
  out.page = [=, description = demo.scenario.description](const Screen& screen) {
    std::string page = screen.wrap("Emulated fabric: " + printable(description), 2) + "\n";
    if (options.mode != "off") page += demo_page(job, screen);
    for (const auto& failure : failures) page += screen.wrap("Failed: " + failure, 2) + "\n";
    return page + report.page(screen) + places;
  };
  out.brief = [=] {
    auto lines = demo_lines(job);
    lines.push_back(places.substr(0, places.size() - 1));
    return lines;
  };
  return out;
}

}  // namespace nnd::cli
