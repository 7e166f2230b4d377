// One run: what an official libnccl did on a node, what `nccl-net-diag check` said that it would,
// and where the two differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "differential/node.h"

namespace nnd::differential {

// A process that crashes or hangs is an observation too. Throws std::exception where the run itself
// can't be made.
nlohmann::json observe(const Node& node, const std::string& nccl, unsigned device);

// `check --json` for that release, on the same host in the same environment.
nlohmann::json predict(const Node& node, const std::string& nccl);

// Sentences, none where NCCL did as was said.
std::vector<std::string> compare(const nlohmann::json& seen, const nlohmann::json& said);

// observe, predict and compare; the rules of `rules` in place of those of `nccl` where it is set.
std::vector<std::string> differences(Node node, const std::string& nccl, unsigned device,
                                     const std::string& rules = "");

// The smallest node that can be made of this one by taking parts away, with a difference left.
Node minimise(Node node, const std::string& nccl, unsigned device, const std::string& rules = "");

}  // namespace nnd::differential
