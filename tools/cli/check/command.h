// nccl-net-diag check: what this node would do, and why, before any job runs.
#pragma once

#include <optional>
#include <string>

#include "cli/common/answer.h"

namespace nnd::cli {

struct CheckOptions {
  std::string policy;
  std::string mode;     // empty: as a job would have it
  std::string fail_on;  // "warn", "refuse"; empty: neither
  std::string nccl;     // "2.28.9"
  std::string scenario;
  std::string host;  // of the scenario's
  std::string root;  // HOST or HOST:PORT where a job's ranks meet
  std::optional<std::size_t> expect_hcas;
};

// Throws CallError.
Answer check(const CheckOptions& options);

}  // namespace nnd::cli
