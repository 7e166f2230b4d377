#include "cli/rehearse/run.h"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/event_json.h"
#include "cli/common/exit_code.h"
#include "cli/common/scenario.h"
#include "cli/rehearse/coordinator.h"
#include "log/reader.h"
#include "softcuda/fabric_job.h"
#include "softcuda/gpu_places.h"
#include "softcuda/job.h"
#include "softcuda/job_environment.h"

namespace nnd::cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kTickMs = 50;

softcuda::JobProgress progress_of(const RehearseRun& run) {
  return [&run](const json& event) { run.progress(event); };
}

// The shim knows a process's rank from these; its log has the rank's name.
void name_ranks(const RehearseRun& run, softcuda::JobSpec& spec, int first_local) {
  for (int rank = 0; rank < spec.ranks(); ++rank)
    spec.rank_environment[rank] = {
        {"NCCL_NET_DIAG_FILE", pattern_of(fmt::format("{}/rank{}.jsonl", run.plan.log_dir, rank))},
        {"RANK", std::to_string(rank)},
        {"LOCAL_RANK", std::to_string(first_local + rank % spec.gpus_per_node)},
        {"WORLD_SIZE", std::to_string(spec.ranks())}};
}

// The log directory is this run's own, so that nothing of another is read.
TaskReport task_report_of(const RehearseRun& run, const softcuda::JobResult& result,
                          const std::function<std::string(int)>& host_of) {
  for (const auto& rank : result.ranks)
    std::ofstream(fs::path(run.plan.log_dir) / fmt::format("rank{}.out", rank.rank)) << rank.output;
  log::Job job;
  const auto counts =
      log::read_logs({run.plan.log_dir}, [&](const log::Event& event) { job.add(event); });
  return make_task_report(result, run.plan.deadline_sec, host_of, job, left_out(counts));
}

// A task's place on the emulated fabric: the host that its node's number says.
std::string put_task_on_fabric(const RehearseRun& run, const LaunchedTask& task,
                               softcuda::JobSpec& spec, const std::string& fabric) {
  auto scenario = load_scenario(run.scenario);
  if (task.node >= static_cast<int>(scenario.hosts.size()))
    throw CallError(kWrongCall, "scenario",
                    fmt::format("{} has {} hosts, and this is node {}", run.scenario,
                                scenario.hosts.size(), task.node),
                    run.scenario);
  auto& host = scenario.hosts[static_cast<std::size_t>(task.node)];
  if (const int more = run.plan.gpus - static_cast<int>(host.gpus.size()); more > 0)
    softverbs::add_gpus(host, more);
  const auto sysfs = fs::path(run.hosts) / host.name;
  auto& environment = spec.node_environment[task.task];
  environment = softverbs::materialize(scenario, host.name, sysfs, fabric);
  environment["NCCL_HOSTID"] = host.name;
  spec.sysfs[task.task] = sysfs.string();
  spec.gpus.clear();
  for (const auto& gpu : host.gpus) spec.gpus.push_back(softcuda::parse_pci(gpu.pci).value());
  return host.name;
}

// The emulated host that this process is on, for the rank: NCCL takes it for a machine of its own.
void stay_on_emulated_host(softcuda::JobSpec& spec, int task, const std::string& sysfs) {
  spec.sysfs[task] = sysfs;
  spec.environment["NCCL_HOSTID"] = host_name();
  softcuda::let_give_way(spec.environment, spec.ranks());  // the others are on this machine, too
  if (auto gpus = softcuda::gpus_of_sysfs(sysfs); !gpus.empty()) spec.gpus = std::move(gpus);
}

// The ranks of one task, and what they did there.
TaskReport play(const RehearseRun& run, const softcuda::JobSpec& spec, int task,
                const std::string& host, const TaskLinks& links) {
  const softcuda::JobPart part{.first_rank = task * run.plan.ranks,
                               .ranks = run.plan.ranks,
                               .first_gpu = run.plan.first_gpu,
                               .hand_out_id = links.hand_out_id,
                               .get_id = links.get_id};
  const auto result = softcuda::run_job_part(spec, part, progress_of(run), links.over);
  return task_report_of(run, result, [&](int) { return host; });
}

std::string task_list(const std::vector<int>& tasks) {
  std::string out;
  for (const int task : tasks) out += fmt::format("{}{}", out.empty() ? "" : ", ", task);
  return (tasks.size() == 1 ? "task " : "tasks ") + out;
}

// Task 0's side of a launched job.
class RootTask {
 public:
  RootTask(const RehearseRun& run, const LaunchedTask& task, Coordinator& coordinator)
      : run_(run), task_(task), coordinator_(coordinator) {}

  // Called several times a second while the job runs.
  bool attend() {
    constexpr auto kGrace = std::chrono::seconds(3);
    coordinator_.attend();
    if (run_.stop()) return true;
    if (!trouble_since_ && trouble()) trouble_since_ = Clock::now();
    return trouble_since_ && Clock::now() >= *trouble_since_ + kGrace;
  }

  Rehearsal finish(TaskReport own, Clock::time_point deadline) {
    constexpr auto kPatience = std::chrono::seconds(8);
    const bool over = !own.failures.empty() || trouble() || run_.stop();
    if (over) {
      coordinator_.call_off();
      deadline = Clock::now() + kPatience;
    }
    while (!(over ? coordinator_.all_told() : coordinator_.complete()) && Clock::now() < deadline) {
      coordinator_.attend();
      poll(nullptr, 0, kTickMs);
    }
    std::vector<TaskReport> parts{std::move(own)};
    for (const auto& [task, part] : coordinator_.reports()) parts.push_back(part);
    Rehearsal out = merge_task_reports(std::move(parts));
    if (const auto lost = coordinator_.lost(); !lost.empty())
      out.all.failures.push_back(task_list(lost) + " left without a report");
    if (coordinator_.arrived() < task_.tasks - 1)
      out.all.failures.push_back(
          fmt::format("only {} of {} tasks came", coordinator_.arrived() + 1, task_.tasks));
    return out;
  }

 private:
  bool trouble() const {
    if (!coordinator_.lost().empty()) return true;
    for (const auto& [task, part] : coordinator_.reports())
      if (!part.failures.empty()) return true;
    return false;
  }

  const RehearseRun& run_;
  const LaunchedTask& task_;
  Coordinator& coordinator_;
  std::optional<Clock::time_point> trouble_since_;
};

}  // namespace

TaskReport run_own_task(const RehearseRun& run, int task, const TaskLinks& links) {
  auto spec = make_rehearsal(run.plan);
  name_ranks(run, spec, run.plan.first_gpu);
  if (const auto sysfs = variable("NCCL_NET_DIAG_SYSFS"); !sysfs.empty())
    stay_on_emulated_host(spec, task, sysfs);
  return play(run, spec, task, host_name(), links);
}

Rehearsal run_on_this_host(const RehearseRun& run) {
  auto spec = make_rehearsal(run.plan);
  name_ranks(run, spec, 0);
  std::vector<std::string> hosts(static_cast<std::size_t>(spec.nodes), host_name());
  if (!run.scenario.empty()) {
    const auto scenario = load_scenario(run.scenario);
    try {
      softcuda::put_on_fabric(spec, scenario, run.hosts);
    } catch (const softverbs::ScenarioError& error) {
      throw CallError(kWrongCall, "scenario", error.what(), run.scenario);
    }
    for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i] = scenario.hosts[i].name;
  }
  const auto result = softcuda::run_job(spec, progress_of(run), run.stop);
  return merge_task_reports({task_report_of(run, result, [&](int rank) {
    return hosts[static_cast<std::size_t>(std::max(rank, 0) / spec.gpus_per_node)];
  })});
}

Rehearsal run_as_task(const RehearseRun& run, const LaunchedTask& task,
                      const std::string& root_text) {
  const auto root = parse_root(root_text);
  const auto deadline = in_seconds(run.plan.deadline_sec);
  std::optional<Coordinator> coordinator;
  std::optional<Participant> participant;
  auto fabric = (fs::path(run.hosts) / "fabric").string();
  if (task.task == 0) {
    fs::create_directories(fabric);
    coordinator.emplace(root, run.token, task.tasks, fabric, run.tell);
  } else {
    participant.emplace(root, run.token, task.task, deadline, run.stop);
    fabric = participant->fabric();
  }
  auto plan = run.plan;
  plan.nodes = task.tasks;
  auto spec = make_rehearsal(plan);
  name_ranks(run, spec, plan.first_gpu);
  auto host = host_name();
  if (!run.scenario.empty()) host = put_task_on_fabric(run, task, spec, fabric);

  std::optional<RootTask> root_task;
  if (coordinator) root_task.emplace(run, task, *coordinator);
  const TaskLinks links{
      .hand_out_id = [&](const std::string& id) { coordinator->hand_out_id(id); },
      .get_id = [&] { return participant->id(); },
      .over = [&] { return root_task ? root_task->attend() : run.stop() || participant->over(); }};
  auto own = play(run, spec, task.task, host, links);
  if (root_task) return root_task->finish(std::move(own), deadline);
  participant->report(own);
  return merge_task_reports({std::move(own)});
}

}  // namespace nnd::cli
