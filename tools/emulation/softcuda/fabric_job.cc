#include "fabric_job.h"

#include <fmt/format.h>

namespace softcuda {

void put_on_fabric(JobSpec& spec, softverbs::Scenario scenario, const std::filesystem::path& dir) {
  if (scenario.hosts.size() < static_cast<std::size_t>(spec.nodes))
    throw softverbs::ScenarioError(fmt::format("{}: {} hosts for {} nodes", scenario.file.string(),
                                               scenario.hosts.size(), spec.nodes));
  const auto fabric = dir / "fabric";
  std::filesystem::create_directories(fabric);
  for (softverbs::Host& host : scenario.hosts)
    if (host.gpus.empty()) softverbs::add_gpus(host, spec.gpus_per_node);
  for (int node = 0; node < spec.nodes; ++node) {
    const softverbs::Host& host = scenario.hosts[static_cast<std::size_t>(node)];
    const auto sysfs = dir / host.name;
    spec.node_environment[node].merge(softverbs::materialize(scenario, host.name, sysfs, fabric));
    spec.sysfs[node] = sysfs.string();
  }
  spec.nvswitch = scenario.hosts.front().nvswitch;  // the job's nodes are alike
  const auto& gpus = scenario.hosts.front().gpus;
  if (gpus.size() < static_cast<std::size_t>(spec.gpus_per_node))
    throw softverbs::ScenarioError(fmt::format(
        "{}: a host has {} GPU{}, and {} ranks on {} hosts need {} each; at most {} ranks here",
        scenario.file.string(), gpus.size(), gpus.size() == 1 ? "" : "s", spec.ranks(), spec.nodes,
        spec.gpus_per_node, gpus.size() * static_cast<std::size_t>(spec.nodes)));
  spec.gpus.clear();
  for (const softverbs::Gpu& gpu : gpus) {
    const auto pci = parse_pci(gpu.pci);
    if (!pci)
      throw softverbs::ScenarioError(
          fmt::format("{}: \"{}\" is no PCI address", scenario.file.string(), gpu.pci));
    spec.gpus.push_back(*pci);
  }
}

}  // namespace softcuda
