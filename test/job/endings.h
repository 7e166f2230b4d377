// A real NCCL job that something ends as jobs are ended, and what `report` then says of it: first
// paragraph, exit code, blame.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "job/fabric.h"
#include "job/heard.h"
#include "job/rails.h"
#include "log/source.h"
#include "report/box_lines.h"
#include "support/catch.h"

namespace nnd::test {

enum class Launcher { kTorchrun, kSlurm, kMpirun };

// On two nodes, with a rail for each of a node's GPUs. Who ends it is one of the test's own.
class EndingJob {
 public:
  using Clock = std::chrono::steady_clock;

  explicit EndingJob(int gpus, Launcher launcher = Launcher::kTorchrun)
      : EndingJob(rails(gpus), gpus, launcher) {}
  // scenario: TOML, of two nodes
  EndingJob(const std::string& scenario, int gpus, Launcher launcher = Launcher::kTorchrun)
      : job_(gpus, 2, scenario) {
    auto& spec = job_.spec;
    spec.grace_sec = kDeadlineSec;
    spec.linger_sec = 0;
    spec.environment.erase("NCCL_NET_DIAG_BLACKBOX");
    spec.environment["NCCL_DEBUG"] = "WARN";  // else what stderr is told is in NCCL's lines
    spec.environment["NCCL_NET_DIAG_STALL_SEC"] = "1";
    if (nccl_version() < 22100) spec.environment["NCCL_IB_GID_INDEX"] = "3";  // picks none itself
    for (int rank = 0; rank < spec.ranks(); ++rank) launch(rank, launcher);
  }

  // Who is gone is given up within a second.
  void give_up_soon() {
    for (const auto& [name, value] : {std::pair{"NCCL_IB_TIMEOUT", "12"},
                                      {"NCCL_IB_RETRY_CNT", "2"},
                                      {"NCCL_IB_MQP_RETRY_CNT", "1"}})
      job_.spec.environment[name] = value;
  }

  softcuda::JobSpec& spec() { return job_.spec; }
  FabricJob& job() { return job_; }
  int ranks() const { return job_.spec.ranks(); }
  std::string named(int rank) const {
    return fmt::format("rank {} (node{})", rank, rank / job_.spec.gpus_per_node);
  }
  std::filesystem::path logs() const { return job_.dir(); }

  // Until all have ended, or `end` says that it is enough. `end` is asked several times a second.
  softcuda::JobResult run(const std::function<bool()>& end = {}) {
    return job_.run(end, [this](const nlohmann::json& event) { hear(event); });
  }

  // What its launcher knows, and does.
  bool started(int rank) const { return pids_.contains(rank); }
  bool ended(int rank) const { return ended_.contains(rank); }
  // How often the rank has told of something that it has done, and which of it were collectives.
  int collectives(int rank) const {
    const auto found = collectives_.find(rank);
    return found == collectives_.end() ? 0 : found->second;
  }
  void signal(int rank, int number) const {
    if (started(rank) && !ended(rank)) ::kill(pids_.at(rank), number);
  }
  void signal_all(int number) const {
    for (const auto& [rank, pid] : pids_) signal(rank, number);
  }
  // That all others have gone on for a while, as their boxes show: launchers take their time.
  bool outlived(int rank) const {
    if (!ended(rank)) return false;
    for (const auto& [other, pid] : pids_) {
      if (ended(other)) continue;
      try {
        const auto box = report::read_box_file(logs() / fmt::format("rank{}.nndbox", other));
        if (box.contents.header.alive_mono_ns < ended_.at(rank) + kWhileNs) return false;
      } catch (const log::ReadError&) {  // it has just ended
      }
    }
    return true;
  }
  // SIGTERM, and SIGKILL for those that are still there after a second.
  void end_all() {
    if (!asked_) {
      asked_ = Clock::now();
      signal_all(SIGTERM);
    }
    if (Clock::now() >= *asked_ + std::chrono::seconds(1)) signal_all(SIGKILL);
  }

  bool told(int rank, const std::string& kind) const {
    for (const auto& event : job_.events(rank, "conn.stall"))
      if (event.at("kind") == kind) return true;
    return false;
  }
  // That the network doesn't bring a rank what it waits for.
  bool waits(int rank) const { return told(rank, "nothing-came") || told(rank, "no-receive"); }
  bool anybody_waits_but(int spared) const {
    for (int rank = 0; rank < ranks(); ++rank)
      if (rank != spared && waits(rank)) return true;
    return false;
  }

 private:
  static constexpr std::uint64_t kWhileNs = 500'000'000;

  static std::uint64_t mono_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
            .count());
  }
  void hear(const nlohmann::json& event) {
    const std::string what = event.at("event");
    const int rank = event.at("rank");
    if (what == "started") pids_[rank] = event.at("pid");
    if (what == "ended") ended_[rank] = mono_ns();
    if (what == "collective") ++collectives_[rank];
  }

  void launch(int rank, Launcher launcher) {
    const std::string own = std::to_string(rank), all = std::to_string(ranks()),
                      local = std::to_string(rank % job_.spec.gpus_per_node);
    auto& variables = job_.spec.rank_environment[rank];
    variables["MASTER_PORT"] = port_;
    variables.erase("RANK");
    variables.erase("WORLD_SIZE");
    switch (launcher) {
      case Launcher::kTorchrun:
        variables.insert({{"RANK", own},
                          {"WORLD_SIZE", all},
                          {"LOCAL_RANK", local},
                          {"TORCHELASTIC_RUN_ID", "run7"},
                          {"TORCHELASTIC_RESTART_COUNT", "0"}});
        break;
      case Launcher::kSlurm:
        variables.insert({{"SLURM_PROCID", own},
                          {"SLURM_NTASKS", all},
                          {"SLURM_LOCALID", local},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_JOB_ID", "4711"}});
        break;
      case Launcher::kMpirun:
        variables.insert({{"OMPI_COMM_WORLD_RANK", own},
                          {"OMPI_COMM_WORLD_SIZE", all},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", local}});
        break;
    }
  }

  // Not that of another job, whose nodes may have the same names.
  static std::string own_port() {
    static std::atomic<int> jobs{0};
    return std::to_string(10'000 + (::getpid() * 8 + jobs++) % 50'000);
  }

  const std::string port_ = own_port();
  FabricJob job_;
  std::map<int, pid_t> pids_;
  std::map<int, std::uint64_t> ended_;  // when
  std::map<int, int> collectives_;
  std::optional<Clock::time_point> asked_;
};

// Nothing at `warn` or `error`, and nothing on stderr.
inline void check_silent(EndingJob& job, const softcuda::JobResult& result) {
  for (const auto& rank : result.ranks) {
    INFO("rank " << rank.rank);
    CHECK(rank.output.find("libnccl-net-diag:") == std::string::npos);
    for (const auto& event : job.job().events(rank.rank)) {
      INFO(event.dump());
      CHECK(event.at("sev") == "info");
    }
  }
}

}  // namespace nnd::test
