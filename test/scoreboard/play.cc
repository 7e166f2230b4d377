#include "scoreboard/play.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "cli/tool.h"
#include "driver/nccl_cache.h"
#include "job/fabric.h"
#include "scoreboard/ras.h"
#include "scoreboard/warning.h"
#include "softverbs/fault_moments.h"

namespace nnd::scoreboard {

namespace {

using nlohmann::json;
using softcuda::Action;
using Kind = Action::Kind;

constexpr std::size_t kBytes = 400'000;
constexpr const char* kOtherNccl = "2.27.7";

std::vector<Action> actions_of(const std::string& job) {
  const Action create{.kind = Kind::kCreate};
  const Action some{.kind = Kind::kCollective, .bytes = kBytes, .iterations = 4};
  const Action end{.kind = Kind::kDestroy};
  if (job == "collectives") return {create, some, end};
  if (job == "resent" ||
      job == "few-files")  // and a rank that waits: then the counters are read more often
    return {create,
            some,
            {.kind = Kind::kCollective, .bytes = kBytes, .only_rank = 0},
            {.kind = Kind::kMeet}};
  if (job == "many")
    return {create, {.kind = Kind::kCollective, .bytes = kBytes, .iterations = 400}, end};
  if (job == "missing")
    return {create,
            some,
            {.kind = Kind::kCollective, .bytes = kBytes, .only_rank = 0},
            {.kind = Kind::kMeet}};
  if (job == "two-versions")
    return {{.kind = Kind::kCreate, .only_rank = 0},
            {.kind = Kind::kCreate, .other_nccl = true, .only_rank = 1},
            some,
            end};
  if (job == "dies") return {create, some, {.kind = Kind::kDie, .only_rank = 1}, some, end};
  throw std::runtime_error("no job " + job);
}

// Four fifths of the files that a process may open are open, from its start.
class FewFiles {
 public:
  explicit FewFiles(bool wanted) {
    if (!wanted) return;
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = kLimit;
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (rlim_t i = 0; i < kLimit * 8 / 10; ++i) files_.push_back(::dup(STDERR_FILENO));
  }
  ~FewFiles() {
    if (files_.empty()) return;
    for (const int fd : files_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  static constexpr rlim_t kLimit = 1000;
  rlimit before_{};
  std::vector<int> files_;
};

// A counter of mlx5_0 of the second node, which the emulated HCA doesn't have by itself.
void count_resent(const test::FabricJob& job, std::uint64_t value) {
  const auto dir = job.dir() / "node1/class/infiniband/mlx5_0/ports/1/hw_counters";
  std::filesystem::create_directories(dir);
  std::ofstream(dir / "local_ack_timeout_err") << value << "\n";
}

std::int64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// The monotonic clock's time at a moment of the other's.
std::uint64_t mono_ns(std::int64_t real_us) {
  const std::int64_t ago = now_ns(CLOCK_REALTIME) - real_us * 1'000;
  return static_cast<std::uint64_t>(now_ns(CLOCK_MONOTONIC) - ago);
}

// One job's RAS, asked once.
class Ras {
 public:
  explicit Ras(softcuda::JobSpec& spec) {
    spec.environment["NCCL_RAS_ADDR"] = fmt::format("{}:{}", ras_host(), kRasPort);
    spec.linger_sec = 1;  // it is the ranks that answer
  }
  void ask() {
    constexpr std::chrono::seconds kPatience{12};  // it waits 10 s for ranks that are silent
    if (said_.empty()) said_ = ras_says(ask_ras(ras_host(), "verbose status\n", kPatience));
  }
  const std::string& said() const { return said_; }

 private:
  std::string said_;
};

std::vector<json> events_of(const test::FabricJob& job) {
  std::vector<json> out;
  for (int rank = 0; rank < job.spec.ranks(); ++rank)
    for (json& event : job.events(rank)) {
      event["rank"] = rank;
      out.push_back(std::move(event));
    }
  std::stable_sort(out.begin(), out.end(), [](const json& a, const json& b) {
    return a["mono_ns"].get<std::uint64_t>() < b["mono_ns"].get<std::uint64_t>();
  });
  return out;
}

// What a user reads first of the job.
void report(const test::FabricJob& job, Seen& seen) {
  std::vector<std::string> call{"report"};
  for (const auto& file : std::filesystem::directory_iterator(job.dir()))
    if (file.path().extension() == ".jsonl" || file.path().extension() == ".nndbox")
      call.push_back(file.path());
  const cli_test::Outcome told = cli_test::run_tool(call);
  seen.headline = told.out.substr(0, told.out.find("\n\n"));
  std::replace(seen.headline.begin(), seen.headline.end(), '\n', ' ');
  seen.report_exit = told.exit_code;
}

std::string why_no_job(const softcuda::JobResult& result) {
  if (!result.error.empty()) return result.error;
  for (const auto& rank : result.ranks)
    if (rank.late) return fmt::format("rank {} was not done at the deadline", rank.rank);
  return {};
}

}  // namespace

Fit fit(const json& event, const Expected& expected) {
  const auto has = [&](const char* key, const std::string& part) {
    return event.value(key, "").find(part) != std::string::npos;
  };
  const std::string name = event.value("dev", json::object()).value("name", "");
  const std::string peer = event.value("peer", json::object()).value("gid", "");
  return {.device = expected.device.empty() || std::regex_match(name, std::regex(expected.device)),
          .peer = expected.peer.empty() ||
                  std::regex_match(peer, std::regex("(::ffff:)?(" + expected.peer + ")")),
          .remedy = has("fix", expected.remedy),
          .sentence = has("msg", expected.says)};
}

const json* find_named(const Seen& seen, const Expected& expected) {
  const json* partly = nullptr;
  for (const json& event : seen.events) {
    if (event["ev"] == "summary" || event.value("cause", "") != expected.cause) continue;
    if (!expected.event.empty() && event["ev"] != expected.event) continue;
    if (event.value("sev", "") != expected.severity) continue;
    if (fit(event, expected).whole()) return &event;
    if (partly == nullptr) partly = &event;
  }
  return partly;
}

Seen play(const World& world, const std::string& policy, const Expected* until) {
  test::FabricJob job(world.gpus, world.nodes, world.scenario);
  if (!world.nccl.empty()) {
    const auto library = driver::cached_nccl(world.nccl);
    if (!library) return {.trouble = "SKIPPED: NCCL " + world.nccl + " is not there"};
    job.spec.nccl = library->string();
  }
  for (auto& [rank, own] : job.spec.rank_environment)  // before what the fabric sets for a node
    for (const auto& [name, value] : world.environment) own[name] = value;
  for (std::size_t node = 0; node < world.of_nodes.size(); ++node)
    job.spec.node_environment[static_cast<int>(node)].insert(world.of_nodes[node].begin(),
                                                             world.of_nodes[node].end());
  if (!policy.empty()) {
    const auto file = job.dir() / "policy.toml";
    std::ofstream(file) << policy;
    job.spec.environment["NCCL_NET_DIAG_POLICY"] = file.string();
  }
  if (world.job == "two-versions") {
    const auto other = driver::cached_nccl(kOtherNccl);
    if (!other) return {.trouble = fmt::format("SKIPPED: NCCL {} is not there", kOtherNccl)};
    job.spec.other_nccl = other->string();
  }
  job.spec.actions = actions_of(world.job);
  job.spec.deadline_sec = 200;
  job.spec.grace_sec = 3;
  job.spec.environment["NCCL_DEBUG_TIMESTAMP_FORMAT"] = kTimeFormat;
  job.spec.environment["NCCL_NET_DIAG_BLACKBOX"] = (job.dir() / "%p.nndbox").string();
  Ras ras(job.spec);
  std::uint64_t resent = 0;
  if (world.job == "resent") count_resent(job, resent);
  const auto told = [&] {
    if (world.job == "resent") count_resent(job, resent += 3);
    const Seen now{.events = events_of(job)};
    const json* const event = find_named(now, *until);
    if (event == nullptr || !fit(*event, *until).whole()) return false;
    ras.ask();
    return true;
  };
  const auto heard = [&](const json& event) {
    if (until == nullptr && (event["event"] == "collective" || event["event"] == "error"))
      ras.ask();
  };
  const FewFiles few(world.job == "few-files");
  const softcuda::JobResult result =
      job.run(until == nullptr ? softcuda::JobStop() : softcuda::JobStop(told), heard);
  Seen out{.events = events_of(job)};
  if (const auto moments = softverbs::fault_moments(job.dir() / "fabric"); !moments.empty())
    out.fault_ns = moments.front().mono_ns;
  std::optional<Warning> first;
  for (const auto& rank : result.ranks)
    if (auto one = first_warning(rank.output); one && (!first || one->real_us < first->real_us))
      first = std::move(one);
  if (first) {
    out.nccl = first->text;
    out.nccl_ns = mono_ns(first->real_us);
  }
  out.ras = ras.said();
  out.trouble = why_no_job(result);
  out.ok = result.ok();
  report(job, out);
  return out;
}

}  // namespace nnd::scoreboard
