// What the integration tests share: which libnccl, how ranks are started, where their files go.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/fabric.h"
#include "driver/job.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace nnd::integration {

using nlohmann::json;

// The libnccl under test: $NND_TEST_NCCL as a version in the cache or a path, else 2.28.9. Where it
// is missing the whole program says so and exits as skipped (main.cc).
std::string nccl();
std::string nccl_version();

// The matcher for a part of a text, which Catch2 names differently in its versions.
inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

using ScratchDir = test::TempDir;

// A rank whose environment has none of the caller's NCCL variables, on the loopback interface, with
// its output in the scratch directory.
driver::RankOptions plain_rank(const ScratchDir& scratch);

// The plugin by its name, as a user has it; and NCCL's own transport with nothing in between.
driver::Transport shim();
driver::Transport builtin(const std::string& name = "IB");

// Every line of the logs in a directory valid against the schema, seq without gaps.
void check_logs(const std::filesystem::path& dir);

// A job on the emulated fabric, one rank per host in turn, and the logs that it leaves.
class EmulatedJob {
 public:
  // `scenario`: a file of examples/scenarios, or TOML text where it has a newline. `environment` is
  // added to every rank's.
  explicit EmulatedJob(const std::string& scenario, int ranks = 2,
                       const std::map<std::string, std::string>& environment = {});

  driver::Job* operator->() { return job_.get(); }
  driver::Job& operator*() { return *job_; }

  // The events of one rank, and of all of them in rank order. To be read when the ranks have ended.
  std::vector<json> log(int rank) const;
  std::vector<json> logs() const;
  std::filesystem::path log_dir() const { return scratch_.path() / "logs"; }
  std::filesystem::path dir() const { return scratch_.path(); }
  const emulated::Fabric& fabric() const { return *fabric_; }

  // Everything once, without an error: load, connect around the ring, move, close, finalize, exit.
  void run_all(const driver::Transport& transport, int channels,
               const driver::Traffic& traffic = {});

  // Every line valid against the schema, seq without gaps.
  void check_logs() const { integration::check_logs(log_dir()); }

 private:
  ScratchDir scratch_;
  std::unique_ptr<emulated::Fabric> fabric_;
  std::unique_ptr<driver::Job> job_;
};

// Two hosts with one RoCE HCA each, and what goes wrong there ([[fault]] tables).
std::string two_hosts(const std::string& faults = "");

// Every connection was opened, became ready and was closed, once each.
void check_lives(const std::vector<json>& events, std::size_t connections);

// The events for which `wanted` holds.
std::vector<json> select(const std::vector<json>& events,
                         const std::function<bool(const json&)>& wanted);
std::vector<json> of_severity(const std::vector<json>& events, const std::string& severity);
std::vector<json> of_kind(const std::vector<json>& events, const std::string& name);

}  // namespace nnd::integration
