// A job on the emulated fabric (tools/emulation/softverbs): each node is a host of a scenario.
#pragma once

#include <filesystem>
#include <string>

#include "job_environment.h"
#include "job_spec.h"
#include "softverbs/scenario.h"

namespace softcuda {

// Node n becomes the scenario's n-th host: its HCAs, its sysfs and its GPUs (where the scenario
// names none, each rank has one beside the HCA of the same number). dir: an empty directory of this
// job's own, which the caller removes afterwards. Throws softverbs::ScenarioError, also when the
// scenario has fewer hosts than the job nodes, or a host fewer GPUs than the job wants per node.
void put_on_fabric(JobSpec& spec, softverbs::Scenario scenario, const std::filesystem::path& dir);

// What a program finds on the host of that name, beside those of the scenario's other hosts that
// have the same `dir`. Each host once. runtime: as program_variables() takes it. Throws
// softverbs::ScenarioError.
Variables variables_on_host(softverbs::Scenario scenario, const std::string& name,
                            const std::filesystem::path& dir, const std::filesystem::path& runtime);

}  // namespace softcuda
