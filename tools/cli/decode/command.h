// `nccl-net-diag decode BOX...`: what a process had in its black box.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/answer.h"

namespace nnd::cli {

struct DecodeOptions {
  std::vector<std::string> boxes;
  std::optional<int> live;  // of this process
  bool lines = false;       // nothing but the events, as the log would have had them
};

Answer decode(const DecodeOptions& options);

}  // namespace nnd::cli
