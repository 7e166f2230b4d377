// What came out of judging: one verdict per broken rule, with the fact that broke it. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "policy/policy.h"

namespace nnd::policy {

struct Verdict {
  std::string rule;                // the key of the policy file: "hca.bond"
  diagnosis::Diagnosis diagnosis;  // the remedy is ready to be pasted where it is a setting
  Action action = Action::kWarn;
  std::string device = {};  // empty: the node as a whole
  unsigned port = 0;        // 0: every port of the device
  // A rail that is there and does less than its siblings: jobs with whole nodes go on without it
  // on every node, or without this node.
  bool rail_short = false;
  std::vector<std::string> also = {};  // "mlx5_9:1": further ports that it is told of
  Decision decision = Decision::kWarn;
  std::uint32_t failure = 0;  // number of the failure that it led to; 0: none
  std::vector<std::string> remaining =
      {};  // "mlx5_0:1": what is left when every denial is enforced

  bool about(std::string_view of, unsigned its_port) const;
};

struct Refusal {
  std::string device;
  unsigned port = 0;
};

struct Judgement {
  Mode mode = Mode::kWarn;
  std::vector<Verdict> verdicts;  // devices in verbs' order, then the node
  // Ports to be kept from NCCL: empty unless the mode is enforce.
  std::vector<Refusal> refused;
  std::vector<std::string> remaining;
  // Those and the rails that are down: what is to be listed, on every node alike.
  std::vector<std::string> meant;
  // Ports that remain and may not be meant: no list should be proposed then.
  std::vector<std::string> doubtful;
  // Enforce only: whoever uses the network fails with this, for that verdict's reason.
  struct NetworkRefused {
    diagnosis::Diagnosis diagnosis;
    std::size_t verdict = 0;
  };
  std::optional<NetworkRefused> network_refused;

  bool refuses(std::string_view device, unsigned port) const;
};

}  // namespace nnd::policy
