// What a host says of itself before anything is sent.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/ping/rank.h"

namespace nnd::cli {

// {"host", "nccl", "nccl_path", "net_version", "plugin", "devices": ["mlx5_0:1", ...] in NCCL's
// order (empty: no HCA), "check": what `nccl-net-diag check` says (check_result.h), "problem" where
// something of it can't be had}.
nlohmann::json describe_ping_host(const RankSetup& setup, const PingTick& tick);

}  // namespace nnd::cli
