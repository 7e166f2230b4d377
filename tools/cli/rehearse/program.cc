#include "cli/rehearse/program.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/parts.h"
#include "cli/common/scenario.h"
#include "cli/common/scratch_dir.h"
#include "cli/rehearse/log_dir.h"
#include "cli/rehearse/own_hcas.h"
#include "cli/rehearse/program_job.h"
#include "cli/report/job_report.h"
#include "softcuda/fabric_job.h"

namespace nnd::cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string in_words(const ProgramEnd& end) {
  if (end.signal)
    return fmt::format("ended by signal {}{}", *end.signal,
                       end.by_us ? " of this program, when another node's had failed" : "");
  return fmt::format("ended with exit code {}{}", end.exit_code.value_or(0),
                     end.by_us ? " when it was told to" : "");
}

std::string verdict_of(const RehearseOptions& options, const ProgramEnds& ends,
                       const JobReport& report) {
  if (InterruptGuard::interrupted()) return "Interrupted.";
  const auto what =
      ends.first_failed ? fmt::format("The program {} on node {}",
                                      in_words(ends.nodes[*ends.first_failed]), *ends.first_failed)
      : ends.late ? fmt::format("The program did not end within {:g} s", options.plan.deadline_sec)
                  : std::string();
  if (what.empty()) return "The program ended with exit code 0." + report.in_spite();
  if (report.found_cause) return what + ": " + report.words.verdict;
  return what + (report.body.is_null() ? ". It left no event log here."
                                       : ". The event logs show no cause.");
}

json to_json(const ProgramEnds& ends) {
  auto out = json::array();
  for (const auto& end : ends.nodes) {
    auto& node = out.emplace_back(json{{"ended_by_us", end.by_us}});
    if (end.exit_code) node["exit_code"] = *end.exit_code;
    if (end.signal) node["signal"] = *end.signal;
  }
  return out;
}

// NCCL leaves them there where a rank is killed.
void remove_segments(const fs::path& list) {
  std::ifstream file(list);
  std::error_code ignored;
  for (std::string segment; std::getline(file, segment);) fs::remove(segment, ignored);
}

softcuda::JobSpec job_of(RehearseOptions& options, const std::string& hosts) {
  auto& plan = options.plan;
  plan.plugin = plugin_file().parent_path().string();
  plan.gpus = plan.ranks;
  auto spec = make_program_job(plan);
  if (options.scenario.empty()) {
    require_hca();
    return spec;
  }
  const auto scenario = load_scenario(options.scenario);
  for (const auto& host : scenario.hosts) {
    auto& names = spec.environment["SOFTVERBS_HOSTS"];
    names += (names.empty() ? "" : ",") + host.name;
  }
  try {
    softcuda::put_on_fabric(spec, scenario, hosts);
  } catch (const softverbs::ScenarioError& error) {
    throw CallError(kWrongCall, "scenario", error.what(), options.scenario);
  }
  return spec;
}

}  // namespace

Answer rehearse_program(RehearseOptions& options, const Calling& calling) {
  const InterruptGuard guard;
  require_plugin();
  ScratchDir scratch("rehearse");
  const ScratchDir hosts("hosts", ScratchDir::Content::kManySmallFiles);
  auto spec = job_of(options, hosts.path().string());
  const auto segments = hosts.path() / "segments";
  spec.environment["SOFTCUDA_SEGMENTS"] = segments.string();
  const auto kept = options.logs.empty() ? std::string() : make_log_dir(options.logs);
  const auto logs = kept.empty() ? (scratch.path() / "logs").string() : kept;
  fs::create_directories(logs);
  flush_output();
  const auto ends = run_programs(
      {.command = options.program,
       .nodes = program_nodes(spec, gpu_runtime(hosts.path() / "softcuda"), logs, free_port()),
       .output_to_stderr = calling.json,
       .deadline_sec =
           options.deadline_given ? std::optional(options.plan.deadline_sec) : std::nullopt,
       .stop = [] { return InterruptGuard::interrupted(); }});
  remove_segments(segments);
  const auto report = report_of(logs);
  Answer out;
  out.verdict = verdict_of(options, ends, report);
  const auto code = ends.exit_code();
  out.exit_code = code == 0 ? kFine : code ? kBroken : kNotExamined;
  out.passed_on = code;
  out.warned = report.found_cause;
  out.body["program"] = options.program;
  out.body["nodes"] = to_json(ends);
  if (!report.body.is_null()) out.body["report"] = report.body;
  const bool keep = !kept.empty() || out.exit_code != kFine;
  if (keep) {
    if (kept.empty()) scratch.keep();
    out.body["logs"] = logs;
  }
  out.page = [=](const Screen& screen) {
    std::string page;
    for (std::size_t node = 0; node < ends.nodes.size(); ++node)
      page += fmt::format("node {}: {}\n", node, in_words(ends.nodes[node]));
    return page + report.page(screen) + (keep ? "Logs: " + logs + "\n" : "");
  };
  return out;
}

}  // namespace nnd::cli
