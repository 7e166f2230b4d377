// nccl-net-diag ping: NCCL's own IB transport between two hosts, no GPU.
#pragma once

#include <string>
#include <vector>

#include "cli/common/answer.h"
#include "cli/ping/run.h"

namespace nnd::cli {

struct PingOptions {
  PingRun run;
  std::string target, nccl, token, token_file, hosts_file, html, scenario;
  std::string command;  // as it was called, without the token
  std::vector<std::string> sizes{"1M"};
  std::string listen;
  bool listening = false;
  double duration = 0.5, pair_deadline = 20, deadline = 3600;  // seconds
};

// Throws CallError.
Answer ping(PingOptions& options, const Calling& calling);

}  // namespace nnd::cli
