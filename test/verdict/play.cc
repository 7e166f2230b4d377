#include "verdict/play.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "cli/tool.h"
#include "driver/nccl_cache.h"
#include "softcuda/fabric_job.h"
#include "softcuda/job.h"
#include "softverbs/fault_moments.h"
#include "verdict/dice.h"
#include "verdict/director.h"

namespace nnd::verdict {

namespace fs = std::filesystem;
using softcuda::Action;
using Kind = Action::Kind;

namespace {

using Variables = std::map<std::string, std::string>;

Variables launcher(const Case& one, int rank, int incarnation) {
  const std::string own = std::to_string(rank), all = std::to_string(one.ranks()),
                    local = std::to_string(rank % one.gpus), job = std::to_string(70000 + one.seed);
  if (one.ending == Ending::kMpirun)
    return {{"OMPI_COMM_WORLD_RANK", own},
            {"OMPI_COMM_WORLD_SIZE", all},
            {"OMPI_COMM_WORLD_LOCAL_RANK", local}};
  if (one.ending == Ending::kCancelled || one.ending == Ending::kTimeLimit)
    return {{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", own},
            {"SLURM_NTASKS", all},  {"SLURM_LOCALID", local},
            {"SLURM_JOB_ID", job},  {"SLURM_RESTART_COUNT", std::to_string(incarnation)}};
  return {{"RANK", own},
          {"WORLD_SIZE", all},
          {"LOCAL_RANK", local},
          {"TORCHELASTIC_RUN_ID", job},
          {"TORCHELASTIC_RESTART_COUNT", std::to_string(incarnation)}};
}

softcuda::JobSpec spec_of(const Case& one, const fs::path& logs, const fs::path& dir,
                          int incarnation) {
  softcuda::JobSpec spec;
  const auto library = driver::cached_nccl(one.nccl);
  if (!library) throw std::runtime_error("NCCL " + one.nccl + " is not there");
  spec.nccl = library->string();
  spec.nodes = one.nodes;
  spec.gpus_per_node = one.gpus;
  spec.inherit_nccl_settings = false;
  spec.deadline_sec = 90;
  spec.heeds_sigterm = one.heeds_sigterm;
  spec.linger_sec = one.ending == Ending::kLive ? spec.deadline_sec : 0;
  spec.library_path = {NND_PLUGIN_DIR};
  spec.actions = one.actions;
  fs::create_directories(dir);
  const fs::path scenario = dir / "scenario.toml";  // the ranks read it too
  std::ofstream(scenario) << one.fabric.toml();
  softcuda::put_on_fabric(spec, softverbs::load_scenario(scenario), dir);
  for (int node = 0; node < one.nodes; ++node) {
    auto& own = spec.node_environment[node];
    own["LD_PRELOAD"] = NND_ELSEWHERE;
    if (const auto ms = one.clock_ms.find(node); ms != one.clock_ms.end())
      own["VERDICT_CLOCK_MS"] = std::to_string(ms->second);
    if (const auto more = one.node_environment.find(node); more != one.node_environment.end())
      for (const auto& [name, value] : more->second) own[name] = value;
  }
  spec.environment = one.environment;
  spec.environment["NCCL_NET_DIAG_FILE"] = logs / "%h.%p.jsonl";
  for (int rank = 0; rank < one.ranks(); ++rank)
    spec.rank_environment[rank] = launcher(one, rank, incarnation);
  return spec;
}

// The same job once more, where nothing goes wrong.
Case again(const Case& one) {
  Case out = one;
  out.fabric.faults.clear();
  out.fabric.changes.clear();
  out.environment.erase("NCCL_IB_HCA");
  out.node_environment.clear();
  out.actions = {{.kind = Kind::kCreate},
                 {.kind = Kind::kCollective, .bytes = 400'000, .iterations = 3},
                 {.kind = Kind::kDestroy}};
  return out;
}

std::string headline(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line) && !line.empty();)
    out +=
        (out.empty() ? "" : " ") + line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return out;
}

void read(const fs::path& logs, Played& played) {
  const auto text = cli_test::run_tool({"report", logs.string()});
  played.line = headline(text.out);
  played.exit_code = text.exit_code;
  const auto json = cli_test::run_tool({"report", "--json", logs.string()});
  played.report = nlohmann::json::parse(json.out, nullptr, false);
  std::ofstream(logs.parent_path() / "report.txt") << text.out << text.err;
}

void find_alarms(const fs::path& logs, Played& played) {
  for (const auto& entry : fs::directory_iterator(logs)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const auto event = nlohmann::json::parse(line, nullptr, false);
      if (!event.is_object() || event.value("sev", "") == "info" || event["ev"] == "summary")
        continue;
      played.alarms.push_back(fmt::format("{} {}: {}", event.value("ev", ""),
                                          event.value("cause", ""), event.value("msg", "")));
    }
  }
}

std::string trouble_of(const softcuda::JobResult& result, const Case& one) {
  if (!result.error.empty()) return result.error;
  for (const auto& rank : result.ranks) {
    if (rank.late) return fmt::format("rank {} was not done at the deadline", rank.rank);
    if (one.truth.healthy && !rank.error.empty())
      return fmt::format("rank {}: {}", rank.rank, rank.error);
  }
  return {};
}

std::map<int, std::string> logs_of(const fs::path& all, const std::map<int, int>& pids) {
  std::map<int, std::string> out;
  for (const auto& entry : fs::directory_iterator(all))
    for (const auto& [rank, pid] : pids)
      if (entry.path().filename().string().ends_with(fmt::format(".{}.jsonl", pid)))
        out[rank] = entry.path();
  return out;
}

// As somebody has it who has one rank's log, of those that the fault has left.
std::vector<Played> read_alone(const Case& one, const Played& played, const fs::path& all,
                               const fs::path& into) {
  std::vector<std::pair<int, std::string>> living;
  for (const auto& log : logs_of(all, played.pids))
    if (!one.truth.ranks.contains(log.first) &&
        played.moments.ended(log.first) >= played.moments.effect_ns)
      living.push_back(log);
  if (living.empty()) return {};
  const auto& [rank, file] = Dice(one.seed ^ 0x616c6f6e).of(living);
  fs::create_directories(into);
  fs::copy_file(file, into / fs::path(file).filename());
  Played out;
  out.collection = {.ranks = {rank}, .boxes = false, .whole = false};
  read(into, out);
  return {out};
}

}  // namespace

Played play(const Case& one, const fs::path& dir, bool alone) {
  Played played;
  const fs::path all = dir / "all", logs = dir / "logs";
  fs::create_directories(all);
  const softcuda::JobSpec spec = spec_of(one, all, dir / "run", 0);
  std::map<int, int>& pids = played.pids;
  const auto judge = [&] {
    if (alone) played.alone = read_alone(one, played, all, dir / "alone" / "logs");
    played.collection = collect(one, all, logs, pids);
    // A living process is known by the file that it holds: no copy has that.
    read(one.ending == Ending::kLive && one.collected == Collected::kAll ? all : logs, played);
  };
  Director director(one, dir / "run" / "fabric", all, played.moments, judge);
  const auto result = softcuda::run_job(
      spec,
      [&](const nlohmann::json& event) {
        if (event["event"] == "started") pids[event["rank"]] = event["pid"];
        director.hear(event);
      },
      [&] { return director.step(); });
  played.trouble = trouble_of(result, one);
  played.ran = result.ok();
  for (const auto& rank : result.ranks)
    if (rank.done || rank.error.starts_with("wrong data")) played.done.insert(rank.rank);
  played.fault_met = !softverbs::fault_moments(dir / "run" / "fabric").empty();
  if (one.restarted) {
    const Case second = again(one);
    softcuda::run_job(spec_of(second, all, dir / "run2", 1));
  }
  if (played.line.empty()) judge();
  played.logs = logs_of(all, pids);
  for (Played& lone : played.alone) {
    lone.trouble = played.trouble;
    lone.ran = played.ran;
    lone.fault_met = played.fault_met;
    lone.done = played.done;
  }
  if (one.truth.healthy) find_alarms(all, played);
  for (const auto& rank : result.ranks)
    std::ofstream(dir / fmt::format("rank{}.out", rank.rank)) << rank.error << "\n" << rank.output;
  return played;
}

}  // namespace nnd::verdict
