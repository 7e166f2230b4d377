// What came out of judging: one verdict per broken rule, with the fact that broke it. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace nnd::policy {

struct Verdict {
  std::string rule;    // the key of the policy file: "hca.bond"
  std::string cause;   // id of the failure catalogue: "DEV-BOND"
  std::string device;  // empty: the node as a whole
  unsigned port = 0;   // 0: every port of the device
  std::string fact;    // one sentence: what was seen
  std::string remedy;  // what to do, ready to be pasted where it is a setting
  Action action = Action::kWarn;
  Decision decision = Decision::kWarn;
  std::vector<std::string> remaining;  // "mlx5_0:1": what is left when every denial is enforced
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
  // Not empty (enforce only): whoever uses the network fails with this sentence.
  std::string network_refused;

  bool refuses(std::string_view device, unsigned port) const;
};

}  // namespace nnd::policy
