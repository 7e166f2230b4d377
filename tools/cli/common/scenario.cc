#include "cli/common/scenario.h"

#include <algorithm>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/parts.h"
#include "config/nearest.h"
#include "softverbs/belonging.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

fs::path scenario_dir() {
  return softverbs::belonging(NND_SCENARIOS_INSTALLED, NND_SCENARIOS_SOURCE);
}

fs::path find_scenario(const std::string& wanted) {
  std::error_code error;
  if (fs::is_regular_file(wanted, error)) return wanted;
  const auto all = scenarios();
  std::vector<std::string> names;
  for (const auto& file : all) {
    if (file.stem() == wanted) return file;
    names.push_back(file.stem());
  }
  const auto near = config::nearest(wanted, {names.begin(), names.end()});
  throw CallError(
      kWrongCall, "scenario",
      "there is no file and no scenario \"" + wanted + "\"" +
          (near.empty() ? "; `demo --list` shows the scenarios" : "; did you mean " + near + "?"),
      wanted, near);
}

}  // namespace

const char* const kScenarioHelp =
    "an emulated fabric instead of this machine's HCAs: a TOML file, or a name that `demo --list` "
    "shows";

std::vector<fs::path> scenarios() {
  require_emulated_fabric();
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(scenario_dir(), error))
    if (entry.path().extension() == ".toml") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

softverbs::Scenario load_scenario(const std::string& wanted) {
  require_emulated_fabric();
  try {
    return softverbs::load_scenario(find_scenario(wanted));
  } catch (const softverbs::ScenarioError& error) {
    throw CallError(kWrongCall, "scenario", error.what(), wanted);
  }
}

EmulatedHosts::EmulatedHosts(softverbs::Scenario scenario)
    : scenario_(std::move(scenario)), dir_("hosts", ScratchDir::Content::kManySmallFiles) {
  fs::create_directories(dir_.path() / "fabric");
}

std::map<std::string, std::string> EmulatedHosts::environment(const std::string& host) const {
  try {
    return softverbs::materialize(scenario_, host, dir_.path() / ("sys." + host),
                                  dir_.path() / "fabric");
  } catch (const softverbs::ScenarioError& error) {
    throw CallError(kWrongCall, "scenario", error.what(), host);
  }
}

}  // namespace nnd::cli
