#include "integration/harness.h"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "driver/nccl_cache.h"
#include "driver/rank_command.h"
#include "support/event_log.h"

namespace nnd::integration {

namespace fs = std::filesystem;

namespace {

std::string wanted_nccl() {
  const char* wanted = std::getenv("NND_TEST_NCCL");
  return wanted != nullptr && *wanted != '\0' ? wanted : "2.28.9";
}

// The ranks load the scenario too, so text must become a file.
softverbs::Scenario scenario_of(const std::string& text_or_name, const fs::path& scratch) {
  if (text_or_name.find('\n') == std::string::npos)
    return softverbs::load_scenario(fs::path(NND_SCENARIOS) / text_or_name);
  const auto file = scratch / "scenario.toml";
  std::ofstream(file) << text_or_name;
  return softverbs::load_scenario(file);
}

}  // namespace

std::string nccl() {
  const auto wanted = wanted_nccl();
  if (wanted.find('/') != std::string::npos) return wanted;
  const auto cached = driver::cached_nccl(wanted);
  return cached ? cached->string() : "";
}

std::string nccl_version() { return wanted_nccl(); }

driver::RankOptions plain_rank(const ScratchDir& scratch) {
  driver::RankOptions out;
  out.command = driver::rank_command();
  out.unset = {"NCCL_*", "SOFTVERBS_*"};
  out.environment = {{"NCCL_SOCKET_IFNAME", "lo"}};
  out.output = scratch.path() / "output";
  return out;
}

driver::Transport shim() { return {nccl(), "diag", ""}; }
driver::Transport builtin(const std::string& name) { return {nccl(), "", name}; }

EmulatedJob::EmulatedJob(const std::string& scenario, int ranks,
                         const std::map<std::string, std::string>& environment) {
  fabric_ = std::make_unique<emulated::Fabric>(scenario_of(scenario, scratch_.path()),
                                               scratch_.path() / "fabric");
  fs::create_directory(log_dir());
  std::vector<driver::RankOptions> options;
  for (int rank = 0; rank < ranks; ++rank) {
    options.push_back(fabric_->rank(static_cast<std::size_t>(rank), std::to_string(rank)));
    auto& variables = options.back().environment;
    variables["NCCL_NET_DIAG_FILE"] = log_dir() / ("rank" + std::to_string(rank) + ".jsonl");
    variables["NCCL_NET_DIAG_EVENTS"] = test::kEveryStep;
    for (const auto& [name, value] : environment) variables[name] = value;
  }
  job_ = std::make_unique<driver::Job>(std::move(options));
}

std::vector<json> EmulatedJob::log(int rank) const {
  return test::read_log(log_dir() / ("rank" + std::to_string(rank) + ".jsonl"));
}

std::vector<json> EmulatedJob::logs() const { return test::read_logs(log_dir()); }

void check_logs(const fs::path& dir) {
  const std::string logs = "$(find " + dir.string() + " -name '*.jsonl*' ! -name '*.nndbox')";
  const std::string command = "python3 " NND_VALIDATE_LOG " " + logs + " >&2";
  CHECK(std::system(command.c_str()) == 0);
}

void EmulatedJob::run_all(const driver::Transport& transport, int channels,
                          const driver::Traffic& traffic) {
  job_->setup(transport);
  job_->carry(job_->ring(channels), traffic);
  job_->finish();
  job_->exit();
}

std::string two_hosts(const std::string& faults) {
  return R"(
[[host]]
count = 2
name = "node{h}"
[[host.hca]]
name = "mlx5_0"
address = "10.0.0.{h+1}/24"
)" + faults;
}

void check_lives(const std::vector<json>& events, std::size_t connections) {
  for (const char* kind : {"conn.open", "conn.ready", "conn.close"}) {
    CAPTURE(kind);
    std::multiset<int> ids;
    for (const auto& event : of_kind(events, kind)) ids.insert(event["conn"].get<int>());
    CHECK(ids.size() == connections);
    CHECK(std::set<int>(ids.begin(), ids.end()).size() == connections);
  }
}

std::vector<json> select(const std::vector<json>& events,
                         const std::function<bool(const json&)>& wanted) {
  std::vector<json> out;
  std::copy_if(events.begin(), events.end(), std::back_inserter(out), wanted);
  return out;
}

std::vector<json> of_severity(const std::vector<json>& events, const std::string& severity) {
  return select(events, [&severity](const json& event) { return event.at("sev") == severity; });
}

std::vector<json> of_kind(const std::vector<json>& events, const std::string& name) {
  return select(events, [&name](const json& event) { return event.at("ev") == name; });
}

}  // namespace nnd::integration
