#include "cli/demo/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/common/event_json.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/scratch_dir.h"
#include "cli/demo/job.h"
#include "cli/demo/report.h"
#include "driver/error.h"
#include "driver/nccl_cache.h"
#include "log/reader.h"
#include "softverbs/scenario.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPreferredNccl = "2.28.9";
constexpr const char* kDefaultScenario = "two-nodes-8-hca-bond";

struct Options {
  std::string nccl;
  std::string scenario = kDefaultScenario;
  int ranks = 2;
  std::string mode = "warn";
  bool list = false;
  bool json = false;
};

fs::path scenario_dir() {
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error);
  const auto installed = program.parent_path().parent_path() / NND_SCENARIOS_INSTALLED;
  return fs::is_directory(installed, error) ? installed : fs::path(NND_SCENARIOS_SOURCE);
}

// What was asked for; else 2.28.9 or the newest of the cache; else what the loader finds.
std::string choose_nccl(const std::string& wanted) {
  if (wanted.find('/') != std::string::npos) return wanted;
  if (!wanted.empty()) {
    if (const auto cached = driver::cached_nccl(wanted)) return *cached;
    throw driver::Error("no NCCL " + wanted + " in " + driver::nccl_cache().string() +
                        "; test/nccl/fetch-nccl " + wanted + " fetches it");
  }
  if (const auto cached = driver::cached_nccl(kPreferredNccl)) return *cached;
  const auto versions = driver::cached_versions();
  if (!versions.empty()) return *driver::cached_nccl(versions.back());
  return "libnccl.so.2";
}

fs::path choose_scenario(const std::string& wanted) {
  if (fs::exists(wanted)) return wanted;
  auto named = scenario_dir() / (wanted + ".toml");
  if (fs::exists(named)) return named;
  throw softverbs::ScenarioError("there is no file and no scenario \"" + wanted +
                                 "\"; --list shows the scenarios");
}

int list_scenarios(bool as_json) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(scenario_dir()))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  auto out = nlohmann::json::array();
  for (const auto& file : files)
    out.push_back({{"name", file.stem().string()},
                   {"description", softverbs::load_scenario(file).description},
                   {"file", file.string()}});
  if (as_json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const auto& one : out)
      fmt::print("{:<24}  {}\n", one["name"].get<std::string>(),
                 one["description"].get<std::string>());
  }
  return kFine;
}

void print_result(const Options& options, const DemoJob& demo, const log::Job& job,
                  const log::Counts& counts, const std::vector<std::string>& failures) {
  if (options.json) {
    auto result = to_json(job);
    result["events"] = counts.events;
    result["logs"] = demo.log_dir.string();
    result["scenario"] = demo.scenario.string();
    result["failure"] = failures.empty()
                            ? nlohmann::json()
                            : nlohmann::json(fmt::format("{}", fmt::join(failures, "; ")));
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("Emulated fabric: {}\n{}\n", softverbs::load_scenario(demo.scenario).description,
             options.mode == "off" ? "NCCL alone, without the shim." : render(job));
  for (const auto& failure : failures) fmt::print("The job failed: {}\n", failure);
  if (failures.empty()) fmt::print("Every byte was checked where it arrived.\n");
  const auto lost = left_out(counts);
  fmt::print("Event logs: {0}/rank*.jsonl ({1} events{2}{3}); NCCL's own: {0}/rank*.out\n",
             demo.log_dir.string(), counts.events, lost.empty() ? "" : "; lines left out: ", lost);
}

int show(const Options& options) {
  DemoJob demo;
  demo.nccl = choose_nccl(options.nccl);
  demo.scenario = choose_scenario(options.scenario);
  demo.ranks = options.ranks;
  demo.mode = options.mode;
  const InterruptGuard guard;
  ScratchDir logs("demo");
  demo.log_dir = logs.path();
  const auto failures = run_demo_job(demo, InterruptGuard::interrupted);
  if (InterruptGuard::interrupted()) throw driver::Error("interrupted");
  // A job that fails has said why in its logs: they are shown all the same.
  logs.keep();
  log::Job job;
  const auto counts =
      log::read_logs({demo.log_dir}, [&](const log::Event& event) { job.add(event); });
  print_result(options, demo, job, counts, failures);
  if (failures.empty()) return kFine;
  return counts.events == 0 && options.mode != "off" ? kNotExamined : kBroken;
}

int run(const Options& options) {
  try {
    return options.list ? list_scenarios(options.json) : show(options);
  } catch (const softverbs::ScenarioError& error) {
    fmt::print(stderr, "nccl-net-diag demo: {}\n", error.what());
    return kWrongCall;
  } catch (const std::exception& error) {
    fmt::print(stderr, "nccl-net-diag demo: {}\n", error.what());
    return kNotExamined;
  }
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* const demo = app.add_subcommand(
      "demo", "A real NCCL job on an emulated fabric, without a GPU, and what the shim logs of it");
  demo->add_option(
      "--nccl", options->nccl,
      "libnccl.so.2 to use: a path, or a version that test/nccl/fetch-nccl has fetched");
  demo->add_option("--scenario", options->scenario,
                   "the fabric: a TOML file, or a name that --list shows")
      ->capture_default_str();
  demo->add_option("--ranks", options->ranks, "processes, one per host in turn")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  demo->add_option("--mode", options->mode,
                   "what the shim does about a broken rule; off: NCCL without the shim")
      ->check(CLI::IsMember({"off", "observe", "warn", "enforce"}))
      ->capture_default_str();
  demo->add_flag("--list", options->list, "show the scenarios there are");
  demo->add_flag("--json", options->json, "the same as JSON");
  demo->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace nnd::cli
