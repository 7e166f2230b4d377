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
  Decision decision = Decision::kWarn;
  std::uint32_t failure = 0;  // number of the failure that it led to; 0: none
  std::vector<std::string> remaining =
      {};  // "mlx5_0:1": what is left when every denial is enforced
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
  // Not all that remain are known to be meant: no list of them should be proposed.
  bool doubt = false;
  // Enforce only: whoever uses the network fails with this, for that verdict's reason.
  struct NetworkRefused {
    diagnosis::Diagnosis diagnosis;
    std::size_t verdict = 0;
  };
  std::optional<NetworkRefused> network_refused;

  bool refuses(std::string_view device, unsigned port) const;
};

}  // namespace nnd::policy
