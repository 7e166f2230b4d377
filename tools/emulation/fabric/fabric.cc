#include "fabric/fabric.h"

#include <cstdlib>
#include <sstream>

#include "driver/error.h"
#include "softverbs/belonging.h"

namespace nnd::emulated {

namespace fs = std::filesystem;

fs::path rank_program() { return softverbs::belonging(NND_RANK_INSTALLED, NND_RANK_BUILT); }
fs::path plugin_file() { return softverbs::belonging(NND_PLUGIN_INSTALLED, NND_PLUGIN_BUILT); }

void require_parts() {
  std::error_code ignored;
  for (const auto& file : {plugin_file(), rank_program()})
    if (!fs::exists(file, ignored))
      throw driver::Error(file.string() +
                          " is not there: the program needs the files that are installed with it");
}

std::vector<std::string> emulator() {
  const char* words = std::getenv("NND_EMULATOR");
  std::istringstream in(words != nullptr ? words : "");
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

Fabric::Fabric(softverbs::Scenario scenario, fs::path dir)
    : scenario_(std::move(scenario)), dir_(std::move(dir)) {
  fs::create_directories(meeting_place());
}

driver::RankOptions Fabric::rank(std::size_t host, const std::string& name) {
  const auto& host_name = scenario_.hosts.at(host % scenario_.hosts.size()).name;
  if (!hosts_.contains(host_name))
    hosts_[host_name] =
        softverbs::materialize(scenario_, host_name, dir_ / ("sys-" + host_name), meeting_place());
  driver::RankOptions out;
  out.command = emulator();
  out.command.push_back(rank_program());
  out.unset = {"NCCL_*", "SOFTVERBS_*"};
  out.environment = hosts_[host_name];
  out.environment["NND_RANK_SYSFS"] = out.environment.at("NCCL_NET_DIAG_SYSFS");
  out.environment["NCCL_NET_PLUGIN"] = "diag";
  out.environment["NCCL_NET_PLUGIN_REF_COUNT"] = "1";
  // NCCL finds plugins on the library path.
  out.environment["LD_LIBRARY_PATH"] =
      plugin_file().parent_path().string() + ":" + out.environment["LD_LIBRARY_PATH"];
  out.output = dir_ / ("rank-" + name + ".out");
  return out;
}

}  // namespace nnd::emulated
