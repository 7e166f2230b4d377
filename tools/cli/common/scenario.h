// `--scenario`: an emulated fabric in place of this machine's HCAs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/common/scratch_dir.h"
#include "softverbs/scenario.h"

namespace nnd::cli {

// "a TOML file, or a name that `demo --list` shows"
extern const char* const kScenarioHelp;

// A file, or the name of a scenario that comes with the fabric. Throws CallError, which names the
// nearest one, or the package to install where the emulated fabric isn't.
softverbs::Scenario load_scenario(const std::string& wanted);
// The files of those that come with the fabric, by name. Throws CallError where it isn't installed.
std::vector<std::filesystem::path> scenarios();

// A scenario laid out in a folder of its own, where processes of its hosts meet.
class EmulatedHosts {
 public:
  explicit EmulatedHosts(softverbs::Scenario scenario);

  const softverbs::Scenario& scenario() const { return scenario_; }
  // What a process must have in its environment to be on that host. To be called once for each.
  // Throws CallError for one that the scenario hasn't.
  std::map<std::string, std::string> environment(const std::string& host) const;

 private:
  softverbs::Scenario scenario_;
  ScratchDir dir_;
};

}  // namespace nnd::cli
