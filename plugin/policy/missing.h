// Ports that NCCL skips because they are down, and that were meant to be used. Internal to this
// room.
#pragma once

#include <vector>

#include "diagnosis/device.h"
#include "policy/candidates.h"

namespace nnd::policy {

struct MissingPort {
  const facts::Hca* hca = nullptr;
  const facts::Port* port = nullptr;
  diagnosis::MissingPort seen;

  // A rail, as far as that can be told of a port that is down: to be listed with the others.
  bool sure() const {
    constexpr std::size_t kManyAlike = 4;
    return !seen.gpu.empty() || seen.gpus != 0 || seen.others >= kManyAlike;
  }
};

// In verbs' order. Ports that are down are many on a healthy node: only those are told that stand
// where their siblings have a rail. `all` has been judged.
std::vector<MissingPort> missing_ports(const facts::Node& node, const Candidates& all);

}  // namespace nnd::policy
