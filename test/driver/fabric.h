// Ranks on the emulated fabric: a scenario laid out in a directory, and how a process on one of its
// hosts is started.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "driver/rank_process.h"
#include "softverbs/scenario.h"

namespace nnd::emulated {

class Fabric {
 public:
  // `dir`: created; holds the hosts' sysfs and the place where their processes meet. It is not
  // removed here. Throws softverbs::ScenarioError or std::filesystem::filesystem_error.
  Fabric(softverbs::Scenario scenario, std::filesystem::path dir);

  const softverbs::Scenario& scenario() const { return scenario_; }
  const std::filesystem::path& dir() const { return dir_; }

  // A rank on host number `host` (modulo the number of hosts): nothing of the caller's NCCL and
  // shim settings reaches it, and it sees the host's verbs and sysfs. Its output goes to
  // dir/rank-<name>.out.
  driver::RankOptions rank(std::size_t host, const std::string& name);

  // Where the fabric's processes meet: softverbs' control functions take it.
  std::filesystem::path meeting_place() const { return dir_ / "fabric"; }

 private:
  softverbs::Scenario scenario_;
  std::filesystem::path dir_;
  std::map<std::string, softverbs::Environment> hosts_;  // those that were laid out
};

std::filesystem::path plugin_file();  // of this build

}  // namespace nnd::emulated
