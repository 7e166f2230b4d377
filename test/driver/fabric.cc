#include "driver/fabric.h"

#include "driver/rank_command.h"

namespace nnd::emulated {

namespace fs = std::filesystem;

fs::path plugin_file() { return NND_PLUGIN; }

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
  out.command = driver::rank_command();
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
