// A ping's result for a terminal.
#pragma once

#include <optional>
#include <string>

#include "cli/common/screen.h"
#include "cli/ping/result.h"

namespace nnd::cli {

std::string render_ping(const PingResult& result, const Screen& screen);

// One line: "mlx5_0:1 -> mlx5_1:1  unreachable  ETIMEDOUT (110) SUB-RAIL".
std::string ping_line(const PairResult& pair);
// "ok", "110", "refused", "silent", "failed": for a grid.
std::string ping_cell(const PairResult& pair);
// One digit behind the point, or a dash.
std::string rounded(const std::optional<double>& value);

}  // namespace nnd::cli
