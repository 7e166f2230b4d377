#include "cli/rehearse/command.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "cli/common/find_nccl.h"
#include "cli/common/interrupt.h"
#include "cli/common/job_progress.h"
#include "cli/common/output.h"
#include "cli/common/parts.h"
#include "cli/common/scratch_dir.h"
#include "cli/exchange/token.h"
#include "cli/rehearse/log_dir.h"
#include "cli/rehearse/own_hcas.h"
#include "cli/rehearse/program.h"
#include "cli/rehearse/report.h"
#include "cli/rehearse/run.h"
#include "cli/rehearse/unplayed.h"
#include "cli/report/job_report.h"

namespace nnd::cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kNotShown[] = {"GPU memory",    "GPUDirect RDMA", "NVLink",
                                     "GPU bandwidth", "NVLS",           "PXN"};

void add_verdict(Rehearsal& rehearsal) {
  if (rehearsal.networks.contains("Socket"))
    rehearsal.all.failures.push_back(
        "NCCL went over TCP (its Socket network) and left the HCAs alone; the HCAs' verdicts and "
        "the warnings say why");
}

int exit_code_of(const Rehearsal& rehearsal, bool interrupted) {
  const auto& ranks = rehearsal.all.ranks;
  if (interrupted || std::none_of(ranks.begin(), ranks.end(),
                                  [](const RankReport& rank) { return rank.nccl != 0; }))
    return kNotExamined;
  const bool failed =
      !rehearsal.all.failures.empty() || first_error(rehearsal.all.troubles) != nullptr;
  return failed ? kBroken : kFine;
}

// Of tasks on other hosts only what they told is here, and not their logs: there is no report then.
std::string verdict_of(const Rehearsal& rehearsal, const std::optional<JobReport>& report) {
  const bool failed = !rehearsal.all.failures.empty();
  if (failed && report) return report->failed("The rehearsal failed", rehearsal.all.failures);
  const auto& troubles = rehearsal.all.troubles;
  const auto* error = failed ? first_failure(troubles) : first_error(troubles);
  const auto cause = error == nullptr ? "" : " " + in_words(*error);
  if (failed)
    return "The rehearsal failed" +
           (error == nullptr ? ": " + rehearsal.all.failures.front() : "." + cause);
  auto in_spite = error == nullptr ? "" : " But something failed on the way." + cause;
  if (report && report->found_cause) in_spite = report->in_spite();
  return fmt::format(
      "{} ranks: every byte was right where it arrived, from host memory; GPU memory and "
      "GPUDirect were not used.{}",
      rehearsal.all.ranks.size(), in_spite);
}

// How to come by one verdict on the logs of all tasks.
std::string how_to_report(const std::string& logs) {
  if (logs.empty())
    return "For one verdict on the logs of all tasks: again with --logs DIR, where all hosts see "
           "DIR, then nccl-net-diag report DIR.";
  return fmt::format(
      "For one verdict on the logs of all tasks: nccl-net-diag report {}; where the other hosts "
      "don't see that directory, collect what their tasks left in theirs.",
      logs);
}

Answer answer_of(const RehearseOptions& options, Rehearsal rehearsal, const std::string& logs,
                 const JobProgress& progress, const std::optional<JobReport>& report) {
  const bool interrupted = InterruptGuard::interrupted();
  add_verdict(rehearsal);
  Answer out;
  out.exit_code = exit_code_of(rehearsal, interrupted);
  out.verdict = interrupted ? progress.interrupted() : verdict_of(rehearsal, report);
  out.warned = !rehearsal.all.troubles.empty();
  out.body = to_json(rehearsal);
  out.body["nccl"] = options.plan.nccl;
  out.body["not_shown"] = kNotShown;
  if (!logs.empty()) out.body["logs"] = logs;
  if (report && !report->body.is_null()) out.body["report"] = report->body;
  out.page = [=, nccl = options.plan.nccl, wanted_logs = options.logs,
              out_of_order = out.exit_code != kFine](const Screen& screen) {
    auto page = fmt::format("{} ranks with {}\n\n{}", rehearsal.all.ranks.size(), nccl,
                            rehearsal_page(rehearsal, screen));
    for (const auto& failure : rehearsal.all.failures)
      page += screen.wrap("Failed: " + failure, 2) + "\n";
    if (report) page += report->page(screen);
    if (!logs.empty()) page += "Logs: " + logs + "\n";
    if (!report && out_of_order) page += screen.wrap(how_to_report(wanted_logs), 2) + "\n";
    return page;
  };
  out.brief = [rehearsal] { return rehearsal_lines(rehearsal); };
  return out;
}

}  // namespace

Answer rehearse(RehearseOptions& options, const Calling& calling) {
  if (!options.program.empty()) return rehearse_program(options, calling);
  const InterruptGuard guard;
  auto& plan = options.plan;
  const auto task = launched_task(variable);
  if (task && options.nodes_given)
    throw CallError(
        kWrongCall, "nodes",
        "--nodes is for a call by hand: " + task->launcher + " says how many tasks there are");
  if (!task && plan.nodes * plan.ranks < 2)
    throw CallError(kWrongCall, "ranks", "one node with one rank has nobody to talk to: --ranks 2");
  const auto root = !options.root.empty() || !task ? options.root : task->root;
  if (task && root.empty())
    throw CallError(kWrongCall, "root",
                    "under " + task->launcher + " give --root HOST:PORT, where task 0 can listen");
  require_plugin();
  std::string token = find_token("", options.token_file, variable);
  if (task && token.empty()) token = job_token(variable);
  unsetenv("NCCL_NET_DIAG_TOKEN");  // not for the processes that are started here
  make_rehearsal(plan);             // what is wrong with the call is said first
  refuse_unplayed(variable, !plan.topology.empty());
  plan.nccl = find_nccl(plan.nccl, variable);
  if (options.scenario.empty()) require_hca();
  plan.plugin = plugin_file().parent_path().string();
  if (task) plan.first_gpu = task->local_task * plan.ranks;
  plan.gpus = plan.first_gpu + plan.ranks;
  ScratchDir scratch("rehearse");
  const ScratchDir hosts("hosts", ScratchDir::Content::kManySmallFiles);
  const auto logs = options.logs.empty() ? std::string() : make_log_dir(options.logs);
  plan.log_dir = logs.empty() ? (scratch.path() / "logs").string() : logs;
  fs::create_directories(plan.log_dir);
  JobProgress progress(calling, plan.deadline_sec);
  const RehearseRun run{plan,
                        options.scenario,
                        hosts.path().string(),
                        token,
                        [&] { return progress.stop(); },
                        [&](const json& event) { progress.show(event); },
                        [&](const std::string& text) {
                          if (!calling.quiet) print_err(text + "\n");
                        }};
  auto rehearsal = task ? run_as_task(run, *task, root) : run_on_this_host(run);
  const bool interrupted = InterruptGuard::interrupted();
  if (task && task->task != 0) return already_told(exit_code_of(rehearsal, interrupted));
  const auto report = task ? std::nullopt : std::optional(report_of(plan.log_dir));
  auto out = answer_of(options, std::move(rehearsal), logs, progress, report);
  // Those of a run that went well are not needed; those of another one say why.
  if (logs.empty() && out.exit_code != kFine) {
    scratch.keep();
    out.body["logs"] = plan.log_dir;
    out.page = [page = out.page, place = plan.log_dir](const Screen& screen) {
      return page(screen) + "Logs: " + place + "\n";
    };
  }
  return out;
}

}  // namespace nnd::cli
