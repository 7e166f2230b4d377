// What this process is told by its environment: SOFTVERBS_SCENARIO, SOFTVERBS_HOST, SOFTVERBS_DIR.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "softverbs/verbs/objects.h"

namespace softverbs {

struct World {
  Scenario scenario;
  const Host* host = nullptr;
  std::string fabric_dir;
  std::chrono::system_clock::time_point fabric_start;  // when the first process came
  std::vector<std::unique_ptr<Device>> devices;        // of this host, in the scenario's order
  Fabric fabric;

  explicit World(Scenario loaded) : scenario(std::move(loaded)), fabric(scenario) {}
};

// Read once per process. Throws std::exception when there is no scenario, or a wrong one.
World& world();

}  // namespace softverbs
