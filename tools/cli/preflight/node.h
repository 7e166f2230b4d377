// A node of an allocation, as `nccl-net-diag check --json` says it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "log/job.h"

namespace nnd::cli {

// What the node's own rules say.
struct NodeVerdict {
  std::string decision, rule, cause, device, fact, remedy;  // decision: "info", "warn", "refuse"
};

struct Node {
  log::Process process;             // its host, HCAs, facts and variables
  std::vector<std::string> broken;  // what keeps a job from its network, in sentences
  std::vector<NodeVerdict> verdicts;
  std::vector<std::string> proposal;  // lines for a job's script

  const std::string& host() const { return process.host; }
};

// Throws BadMessage.
Node node_from(const nlohmann::json& check);

}  // namespace nnd::cli
