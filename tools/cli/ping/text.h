// A ping's result for a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/screen.h"
#include "cli/ping/result.h"

namespace nnd::cli {

std::string render_ping(const PingResult& result, const Screen& screen);

// One line: "mlx5_0:1 -> mlx5_1:1  unreachable  ETIMEDOUT (110) SUB-RAIL".
std::string ping_outcome(const PairResult& pair);
// The same with latency and bandwidth.
std::string ping_line(const PairResult& pair);
// "ok", "110", "refused", "silent", "failed": for a grid.
std::string ping_cell(const PairResult& pair);
// Pairs that fail alike.
struct PingGroup {
  std::string what;  // "unreachable ETIMEDOUT (110) SUB-RAIL"
  std::vector<const PairResult*> pairs;
};
// In the order of the first of each; they point into `pairs`.
std::vector<PingGroup> ping_groups(const std::vector<PairResult>& pairs);
// "a/mlx5_0:1 - b/mlx5_1:1, ... and 3 more".
std::string names_of(const PingGroup& group, std::size_t most);
// "64K".
std::string size_text(std::size_t bytes);
// "87.5%": the slower direction, of what the pair allows; a dash where that isn't known.
std::string share_text(const PairResult& pair, const Bandwidth& row);
// One digit behind the point, or a dash.
std::string rounded(const std::optional<double>& value);

}  // namespace nnd::cli
