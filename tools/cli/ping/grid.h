// Pairs as a grid for each two hosts: ports of the one down, of the other across.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace nnd::cli {

struct PingGrid {
  std::string from_host, to_host;
  std::vector<std::string> rows, columns;  // "mlx5_0:1", in the order of the pairs
  std::map<std::pair<std::string, std::string>, const nlohmann::json*> pairs;  // by row and column
};

// Points into `pairs`.
std::vector<PingGrid> ping_grids(const nlohmann::json& pairs);

std::string ping_port(const nlohmann::json& end);  // "mlx5_0:1"

}  // namespace nnd::cli
