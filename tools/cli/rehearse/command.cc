#include "cli/rehearse/command.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/find_nccl.h"
#include "cli/common/guarded.h"
#include "cli/common/interrupt.h"
#include "cli/common/scratch_dir.h"
#include "cli/exchange/token.h"
#include "cli/rehearse/report.h"
#include "cli/rehearse/run.h"
#include "fabric/fabric.h"

namespace nnd::cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kWhat =
    "Runs a real NCCL job over this machine's own HCAs without taking a GPU.\n\n"
    "libnccl's own code searches the topology, chooses HCAs, connects and moves data, which is\n"
    "verified. The GPU is played in each rank's process (softcuda): its memory is host memory.\n\n"
    "By hand, this host plays --nodes nodes of --ranks ranks each, for NCCL different machines.\n"
    "Under torchrun, mpirun or srun each task runs --ranks ranks of one job over all hosts; task\n"
    "0 listens on --root HOST:PORT (torchrun: MASTER_ADDR and MASTER_PORT) and prints the "
    "result.\n\n"
    "It shows: which HCAs are taken, which channel uses which HCA to which peer, that these pairs\n"
    "connect and that the data arrives, how fast it does from host memory, what NCCL and the shim\n"
    "say. It doesn't show: GPU memory and GPUDirect RDMA, NVLink, a GPU's bandwidth, trees, NVLS\n"
    "and the LL protocols (rings with the Simple protocol are played), relaying through another\n"
    "GPU (PXN)..";

constexpr const char* kNotShown[] = {"GPU memory",     "GPUDirect RDMA", "NVLink", "GPU bandwidth",
                                     "trees and NVLS", "LL and LL128",   "PXN"};

struct Options {
  RehearsePlan plan;
  std::string scenario, root, token_file, logs;
  bool nodes_given = false;
  bool json = false;
  bool quiet = false;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void require_hca() {
  const auto given = variable("NCCL_NET_DIAG_SYSFS");
  const fs::path infiniband = fs::path(given.empty() ? "/sys" : given) / "class/infiniband";
  std::error_code error;
  if (fs::is_directory(infiniband, error) && !fs::is_empty(infiniband, error)) return;
  throw CallError(
      kNotExamined, "no-hca",
      fmt::format("this host has no HCA ({} is empty or missing): NCCL would go over TCP; "
                  "--scenario rehearses on an emulated fabric",
                  infiniband.string()));
}

void show_progress(const json& event) {
  const std::string what = event.at("event");
  if (what == "created")
    fmt::print(stderr, "rank 0: communicator ready after {:.0f} ms\n",
               event.at("ms").get<double>());
  else if (what == "collective")
    fmt::print(stderr, "rank 0: {} of {} bytes, {} times: data right, {:.1f} ms\n",
               event.at("collective").get<std::string>(), event.at("bytes").dump(),
               event.at("iterations").dump(), event.at("ms").get<double>());
}

// Interrupted, and a sign of life every ten seconds.
std::function<bool()> watch(bool quiet, double deadline_sec) {
  using Clock = std::chrono::steady_clock;
  constexpr int kEverySec = 10;
  const auto start = Clock::now();
  return [=, told = 0]() mutable {
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start);
    const int due = static_cast<int>(elapsed.count()) / kEverySec;
    if (due > told && !quiet)
      fmt::print(stderr, "running for {} s, {:g} s at most\n", elapsed.count(), deadline_sec);
    told = due;
    return InterruptGuard::interrupted();
  };
}

void add_verdict(Rehearsal& rehearsal) {
  if (rehearsal.networks.contains("Socket"))
    rehearsal.all.failures.push_back(
        "NCCL went over TCP (its Socket network) and left the HCAs alone; the HCAs' verdicts and "
        "the warnings say why");
}

std::size_t refusals(const Rehearsal& rehearsal) {
  const auto& troubles = rehearsal.all.troubles;
  return static_cast<std::size_t>(std::count_if(
      troubles.begin(), troubles.end(),
      [](const Trouble& trouble) { return trouble.diagnosis.severity == log::Severity::kError; }));
}

int exit_code_of(const Rehearsal& rehearsal) {
  const auto& ranks = rehearsal.all.ranks;
  if (std::none_of(ranks.begin(), ranks.end(),
                   [](const RankReport& rank) { return rank.nccl != 0; }))
    return kNotExamined;
  return rehearsal.all.failures.empty() && refusals(rehearsal) == 0 ? kFine : kBroken;
}

// The last sentence: how it ended.
std::string verdict(const Rehearsal& rehearsal) {
  if (!rehearsal.all.failures.empty()) return "The rehearsal failed.";
  const std::string right =
      "Every byte was right where it arrived, from host memory; GPU memory and GPUDirect were not "
      "used.";
  const auto refused = refusals(rehearsal);
  if (refused == 0) return right;
  return fmt::format("{} But something was refused or went wrong on the way: {} error{} above.",
                     right, refused, refused == 1 ? "" : "s");
}

int print_result(const Options& options, Rehearsal rehearsal, const std::string& logs) {
  add_verdict(rehearsal);
  const int code = exit_code_of(rehearsal);
  if (options.json) {
    auto out = to_json(rehearsal);
    out["ok"] = code == kFine;
    out["nccl"] = options.plan.nccl;
    out["not_shown"] = kNotShown;
    if (!logs.empty()) out["logs"] = logs;
    fmt::print("{}\n", out.dump(2, ' ', false, json::error_handler_t::replace));
    return code;
  }
  fmt::print("{} ranks with {}\n\n{}", rehearsal.all.ranks.size(), options.plan.nccl,
             render(rehearsal));
  for (const auto& failure : rehearsal.all.failures) fmt::print("FAILED: {}\n", failure);
  fmt::print("{}\n", verdict(rehearsal));
  if (!logs.empty()) fmt::print("Logs: {}\n", logs);
  return code;
}

// A new directory for this run's logs below the one that the user named, so that neither another
// run's logs nor anybody's links are in it.
std::string make_log_dir(const std::string& wanted) {
  std::error_code error;
  fs::create_directories(wanted, error);
  struct stat about {};
  if (stat(wanted.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    throw CallError(kWrongCall, "logs", wanted + " is no directory and cannot be made one", wanted);
  const bool others_write = (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if ((about.st_uid != geteuid() && about.st_uid != 0) ||
      (others_write && (about.st_mode & S_ISVTX) == 0))
    throw CallError(kWrongCall, "logs",
                    wanted + " belongs to another user, or others can change what is in it",
                    wanted);
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::strftime(time.data(), time.size(), "%Y%m%d-%H%M%S", gmtime_r(&now, &utc));
  auto name = fmt::format("{}/{}.XXXXXX", wanted, time.data());
  if (mkdtemp(name.data()) == nullptr)
    throw CallError(kWrongCall, "logs", fmt::format("{}: {}", name, std::strerror(errno)), wanted);
  return name;
}

int rehearse(Options& options) {
  const InterruptGuard guard;
  auto& plan = options.plan;
  const auto task = launched_task(variable);
  if (task && options.nodes_given)
    throw CallError(
        kWrongCall, "nodes",
        "--nodes is for a call by hand: " + task->launcher + " says how many tasks there are");
  const auto root = !options.root.empty() || !task ? options.root : task->root;
  if (task && root.empty())
    throw CallError(kWrongCall, "root",
                    "under " + task->launcher + " give --root HOST:PORT, where task 0 can listen");
  std::string token = find_token("", options.token_file, variable);
  if (task && token.empty()) token = job_token(variable);
  unsetenv("NCCL_NET_DIAG_TOKEN");  // not for the processes that are started here
  make_rehearsal(plan);             // what is wrong with the call is said first
  plan.nccl = find_nccl(plan.nccl, variable);
  if (options.scenario.empty()) require_hca();
  plan.plugin = emulated::plugin_file().parent_path().string();
  if (task) plan.first_gpu = task->local_task * plan.ranks;
  plan.gpus = plan.first_gpu + plan.ranks;
  const ScratchDir scratch("rehearse");
  const auto logs = options.logs.empty() ? std::string() : make_log_dir(options.logs);
  plan.log_dir = logs.empty() ? (scratch.path() / "logs").string() : logs;
  fs::create_directories(plan.log_dir);
  const RehearseRun run{plan,
                        options.scenario,
                        scratch.path().string(),
                        token,
                        watch(options.quiet, plan.deadline_sec),
                        [&](const json& event) {
                          if (!options.quiet) show_progress(event);
                        },
                        [&](const std::string& text) {
                          if (!options.quiet) fmt::print(stderr, "{}\n", text);
                        }};
  auto rehearsal = task ? run_as_task(run, *task, root) : run_on_this_host(run);
  if (InterruptGuard::interrupted()) throw CallError(kNotExamined, "interrupted", "interrupted");
  if (!task || task->task == 0) return print_result(options, std::move(rehearsal), logs);
  return exit_code_of(rehearsal);
}

}  // namespace

void add_rehearse(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto& plan = options->plan;
  auto* const command = app.add_subcommand("rehearse", kWhat);
  command->add_option("--nccl", plan.nccl,
                      "libnccl.so.2 to run: a file or its directory (default: what is found in "
                      "LD_LIBRARY_PATH, the Python environment, the system)");
  auto* const nodes =
      command->add_option("--nodes", plan.nodes, "nodes that this host plays, without a launcher")
          ->check(CLI::Range(2, 64))
          ->capture_default_str();
  command->add_option("--ranks", plan.ranks, "ranks, and GPUs, per node (launcher: per task)")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  command->add_option("--root", options->root, "under a launcher: HOST:PORT where task 0 listens");
  command->add_option("--token-file", options->token_file,
                      "under a launcher: a file whose first line is the secret by which the tasks "
                      "know each other (also: variable NCCL_NET_DIAG_TOKEN; default: mpirun's own "
                      "key, else the user's, in ~/.config/nccl-net-diag/token)");
  command->add_option("--topo", plan.topology,
                      "NCCL topology file (NCCL_TOPO_DUMP_FILE of a real job), also for the GPUs' "
                      "places");
  command
      ->add_option("--collective", plan.collectives,
                   "all_reduce, all_gather, reduce_scatter, broadcast, reduce, sendrecv")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--size", plan.sizes, "bytes of the count argument: 65536, 64K, 4M")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--iterations", plan.iterations, "of each collective and size")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--deadline", plan.deadline_sec, "seconds; then the ranks are ended")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command->add_option("--scenario", options->scenario,
                      "an emulated fabric (TOML) instead of this machine's HCAs");
  command->add_option(
      "--logs", options->logs,
      "directory below which event logs and NCCL's output stay, in a new directory of "
      "each run (default: not kept)");
  command->add_flag("--json", options->json, "the result as JSON");
  command->add_flag("--quiet", options->quiet, "no progress on stderr");
  command->callback([options, nodes, &exit_code] {
    options->nodes_given = nodes->count() > 0;
    exit_code = guarded("rehearse", options->json, [&] { return rehearse(*options); });
  });
}

}  // namespace nnd::cli
