// Real NCCL on a real GPU, through the shim, over the emulated fabric: two ranks on one GPU that
// NCCL takes for two nodes (on_gpu.py).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "integration/harness.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

struct Outcome {
  std::vector<int> status;                // exit status by rank, -1 when ended by a signal
  std::vector<std::vector<json>> events;  // by rank; empty without the shim
};

pid_t start(const driver::RankOptions& options, const std::vector<std::string>& arguments) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  const int out = open(options.output.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  std::vector<char*> words;
  for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

Outcome all_reduce(bool with_shim) {
  const ScratchDir scratch;
  const auto scenario = scratch.path() / "two-hosts.toml";  // the ranks load it too
  std::ofstream(scenario) << two_hosts();
  emulated::Fabric fabric(softverbs::load_scenario(scenario), scratch.path() / "fabric");
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    auto options = fabric.rank(static_cast<std::size_t>(rank), std::to_string(rank));
    auto& environment = options.environment;
    if (!with_shim) environment["NCCL_NET_PLUGIN"] = "none";
    environment["NCCL_NET"] = "IB";
    environment["NCCL_NET_DIAG_FILE"] = scratch.path() / (std::to_string(rank) + ".jsonl");
    ranks.push_back(start(options, {NND_PYTHON, NND_ON_GPU, NND_GPU_RANK, nccl(),
                                    scratch.path() / "id", std::to_string(rank), "2"}));
  }
  Outcome out;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    int status = 0;
    REQUIRE(waitpid(ranks[rank], &status, 0) == ranks[rank]);
    out.status.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    std::ifstream printed(fabric.dir() / ("rank-" + std::to_string(rank) + ".out"));
    for (std::string line; std::getline(printed, line);)
      std::printf("rank %zu: %s\n", rank, line.c_str());
    std::ifstream log(scratch.path() / (std::to_string(rank) + ".jsonl"));
    auto& events = out.events.emplace_back();
    for (std::string line; std::getline(log, line);) events.push_back(json::parse(line));
  }
  return out;
}

}  // namespace

TEST_CASE(
    "two ranks on one GPU all-reduce right data over NCCL's own IB transport, without the shim") {
  CHECK(all_reduce(false).status == std::vector<int>{0, 0});
}

TEST_CASE(
    "two ranks on one GPU all-reduce right data through the shim, which logs every connection") {
  const auto outcome = all_reduce(true);
  CHECK(outcome.status == std::vector<int>{0, 0});
  for (const auto& events : outcome.events) {
    CHECK(of_kind(events, "plugin.load").size() == 1);
    CHECK_FALSE(of_kind(events, "conn.ready").empty());
    std::size_t bytes = 0;
    for (const auto& closed : of_kind(events, "conn.close"))
      bytes += closed["bytes"].get<std::size_t>();
    CHECK(bytes > (std::size_t{1} << 24));
    CHECK(of_severity(events, "error").empty());
  }
}
