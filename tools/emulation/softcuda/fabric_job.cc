#include "fabric_job.h"

#include <fmt/format.h>

namespace softcuda {

namespace {

std::vector<PciAddress> places_of(const softverbs::Host& host,
                                  const softverbs::Scenario& scenario) {
  std::vector<PciAddress> out;
  for (const softverbs::Gpu& gpu : host.gpus) {
    const auto pci = parse_pci(gpu.pci);
    if (!pci)
      throw softverbs::ScenarioError(
          fmt::format("{}: \"{}\" is no PCI address", scenario.file.string(), gpu.pci));
    out.push_back(*pci);
  }
  return out;
}

// The node is that host of the scenario, laid out in `dir`.
void put_node(JobSpec& spec, int node, const softverbs::Scenario& scenario, const std::string& host,
              const std::filesystem::path& dir) {
  const auto fabric = dir / "fabric";
  std::filesystem::create_directories(fabric);
  const auto sysfs = dir / host;
  spec.node_environment[node].merge(softverbs::materialize(scenario, host, sysfs, fabric));
  spec.sysfs[node] = sysfs.string();
}

}  // namespace

void put_on_fabric(JobSpec& spec, softverbs::Scenario scenario, const std::filesystem::path& dir) {
  if (scenario.hosts.size() < static_cast<std::size_t>(spec.nodes))
    throw softverbs::ScenarioError(fmt::format("{}: {} hosts for {} nodes", scenario.file.string(),
                                               scenario.hosts.size(), spec.nodes));
  for (softverbs::Host& host : scenario.hosts)
    if (host.gpus.empty()) softverbs::add_gpus(host, spec.gpus_per_node);
  for (int node = 0; node < spec.nodes; ++node)
    put_node(spec, node, scenario, scenario.hosts[static_cast<std::size_t>(node)].name, dir);
  spec.nvswitch = scenario.hosts.front().nvswitch;  // the job's nodes are alike
  const auto& gpus = scenario.hosts.front().gpus;
  if (gpus.size() < static_cast<std::size_t>(spec.gpus_per_node))
    throw softverbs::ScenarioError(fmt::format(
        "{}: a host has {} GPU{}, and {} ranks on {} hosts need {} each; at most {} ranks here",
        scenario.file.string(), gpus.size(), gpus.size() == 1 ? "" : "s", spec.ranks(), spec.nodes,
        spec.gpus_per_node, gpus.size() * static_cast<std::size_t>(spec.nodes)));
  spec.gpus = places_of(scenario.hosts.front(), scenario);
}

Variables variables_on_host(softverbs::Scenario scenario, const std::string& name,
                            const std::filesystem::path& dir,
                            const std::filesystem::path& runtime) {
  JobSpec spec;
  spec.nodes = static_cast<int>(scenario.hosts.size());
  int node = -1;
  for (int i = 0; i < spec.nodes; ++i) {
    auto& host = scenario.hosts[static_cast<std::size_t>(i)];
    auto& names = spec.environment["SOFTVERBS_HOSTS"];
    names += (names.empty() ? "" : ",") + host.name;
    if (host.name != name) continue;
    node = i;
    if (host.gpus.empty()) softverbs::add_gpus(host, 1);
    spec.gpus = places_of(host, scenario);
    spec.gpus_per_node = static_cast<int>(spec.gpus.size());
    spec.nvswitch = host.nvswitch;
  }
  if (node < 0)
    throw softverbs::ScenarioError(
        fmt::format("{}: there is no host \"{}\"", scenario.file.string(), name));
  put_node(spec, node, scenario, name, dir);
  return program_variables(spec, node, runtime);
}

}  // namespace softcuda
