// Jobs in which NCCL tells the profiler.
#pragma once

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "job/fabric.h"
#include "support/catch.h"

namespace nnd::test {

// All ranks talk over the network.
struct ProfiledJob : FabricJob {
  explicit ProfiledJob(int gpus_per_node = 2, int nodes = 2, const std::string& scenario = {})
      : FabricJob(gpus_per_node, nodes, scenario) {
    auto& environment = spec.environment;
    environment["NCCL_DEBUG_SUBSYS"] = "INIT,NET,GRAPH";
    environment["NCCL_P2P_DISABLE"] = "1";
    environment["NCCL_SHM_DISABLE"] = "1";
  }

  // All that was logged has the schema.
  void check_logs() const {
    const std::string command = "python3 " NND_VALIDATE_LOG " '" + dir().string() + "'/*.jsonl >&2";
    CHECK(std::system(command.c_str()) == 0);
  }
};

// As all of this job's connections are to be found out.
inline std::string how() { return nccl_version() >= 22800 ? "exact" : "joined"; }

// Not always of the same ones, and without us just so.
inline bool loses_ends_of_steps() { return nccl_version() >= 22400 && nccl_version() < 22700; }

}  // namespace nnd::test
