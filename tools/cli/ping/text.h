// A ping's result for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace nnd::cli {

std::string render_ping(const nlohmann::json& result);
std::string render_ping_html(const nlohmann::json& result);  // one file that needs no other

// One line: "mlx5_0:1 -> mlx5_1:1  unreachable  ETIMEDOUT (110) SUB-RAIL".
std::string ping_line(const nlohmann::json& pair);
// "ok", "110", "refused", "silent", "failed": for a grid.
std::string ping_cell(const nlohmann::json& pair);

}  // namespace nnd::cli
