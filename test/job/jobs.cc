#include "job/jobs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "driver/nccl_cache.h"

namespace nnd::test {

namespace {

std::string wanted_version() {
  const char* version = std::getenv("NND_TEST_NCCL");
  return version == nullptr ? "2.28.9" : version;
}

// The end of a rank's output: Catch2 takes minutes to wrap a text of megabytes.
std::string tail(const std::string& output) {
  constexpr std::size_t kMost = 8000;
  return output.size() <= kMost ? output : "...\n" + output.substr(output.size() - kMost);
}

}  // namespace

const std::string& nccl_library() {
  static const std::string path = [] {
    const auto found = driver::cached_nccl(wanted_version());
    if (!found) {
      fmt::print("SKIPPED: NCCL {} is not in {}\n", wanted_version(),
                 driver::nccl_cache().string());
      std::exit(77);
    }
    return found->string();
  }();
  return path;
}

int nccl_version() {
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(wanted_version().c_str(), "%d.%d.%d", &major, &minor, &patch) != 3)
    throw std::runtime_error("NND_TEST_NCCL is no version");
  return major * 10000 + minor * 100 + patch;
}

softcuda::JobSpec socket_job(int nodes, int gpus_per_node) {
  softcuda::JobSpec spec;
  spec.nccl = nccl_library();
  spec.nodes = nodes;
  spec.gpus_per_node = gpus_per_node;
  spec.deadline_sec = 120;
  spec.grace_sec = 10;
  spec.environment = {{"NCCL_IB_DISABLE", "1"},
                      {"NCCL_SOCKET_IFNAME", "lo"},
                      {"NCCL_NET_PLUGIN", "none"},
                      {"NCCL_DEBUG", "WARN"}};
  return spec;
}

softcuda::Action lone_collective() {
  return {
      .kind = softcuda::Action::Kind::kCollective, .bytes = 4000000, .wait = false, .only_rank = 0};
}

bool aborts_under_way() { return nccl_version() < 22300 || nccl_version() >= 22600; }

void avoid_lost_segments(softcuda::JobSpec& spec) {
  if (nccl_version() < 21900) spec.environment["NCCL_SHM_DISABLE"] = "1";
}

std::string failures(const softcuda::JobResult& result) {
  std::ostringstream text;
  text << result.error;
  for (const auto& rank : result.ranks) {
    if (!rank.error.empty()) text << "rank " << rank.rank << ": " << rank.error << "\n";
    if (rank.signal) text << "rank " << rank.rank << ": signal " << *rank.signal << "\n";
    if (rank.late) text << "rank " << rank.rank << ": not done at the deadline\n";
    if (rank.stopped) text << "rank " << rank.rank << ": stopped after another had failed\n";
    if (!rank.done) text << tail(rank.output) << rank.stacks;
  }
  if (text.str().empty() && !result.ok()) text << "a rank ended early\n";
  constexpr std::size_t kMost = 40000;
  return text.str().substr(0, kMost);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "nnd-job-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace nnd::test
