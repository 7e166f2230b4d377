// nccl-net-diag demo: a real NCCL job on an emulated fabric, and what the shim logs of it.
#pragma once

#include <string>

#include "cli/common/answer.h"

namespace nnd::cli {

struct DemoOptions {
  std::string nccl;
  std::string scenario;  // empty: two-nodes-8-hca-bond, or eight-nodes-8-hca-bond for many ranks
  int ranks = 2;
  std::string mode = "warn";  // or "off": NCCL alone
  bool list = false;
};

// Throws CallError.
Answer demo(const DemoOptions& options, const Calling& calling);

}  // namespace nnd::cli
