// What a ping found, as JSON: docs/ping.md names the members. Pure functions of what the hosts
// reported.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/ping/conduct.h"

namespace nnd::cli {

// Ports of a host that NCCL takes and the patterns select ("mlx5_0", "mlx5_*", "mlx5_0:1"; none:
// all). Throws CallError for a pattern that fits none, with the nearest name and why it is not
// taken.
std::vector<std::string> select_ports(const nlohmann::json& host,
                                      const std::vector<std::string>& patterns);

// matrix: each with each; else each with the one of the same name, or of the same place where there
// is no such name.
std::vector<PingPair> plan_pairs(std::size_t from_host, const std::vector<std::string>& from,
                                 std::size_t to_host, const std::vector<std::string>& to,
                                 bool matrix);

// {"from", "to": {"host", "hca", "port", "netdev", "gid_index", "gid", "subnet"}, "state":
// "reachable", "refused" (by the policy in effect), "unreachable" (a QP could not be moved),
// "silent" (nothing came until the deadline) or "failed", "apart": no wonder, the ends are in
// different subnets, ...}
nlohmann::json pair_result(const PingPair& pair, const std::vector<nlohmann::json>& hosts,
                           const PingConductor::Outcome& outcome);

struct PingScope {
  bool matrix = false;
  std::size_t planned = 0;  // how many pairs there were to be
  std::string ended;        // why it ended early, or empty
  // Whether a port of that end that meets no other is a fault: not where only some of those that it
  // could meet were asked for.
  bool judge_from = true, judge_to = true;
};

// All of it.
nlohmann::json ping_result(const std::vector<nlohmann::json>& hosts,
                           const std::vector<nlohmann::json>& pairs, const PingScope& scope);

}  // namespace nnd::cli
