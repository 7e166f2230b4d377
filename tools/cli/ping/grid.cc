#include "cli/ping/grid.h"

#include <fmt/format.h>

#include <algorithm>

namespace nnd::cli {

using nlohmann::json;

namespace {

void note(std::vector<std::string>& list, const std::string& name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

}  // namespace

std::string ping_port(const json& end) {
  return fmt::format("{}:{}", end.at("hca").get<std::string>(), end.at("port").get<int>());
}

std::vector<PingGrid> ping_grids(const json& pairs) {
  std::vector<PingGrid> out;
  for (const auto& pair : pairs) {
    const auto &from = pair.at("from"), &to = pair.at("to");
    const std::string from_host = from.at("host"), to_host = to.at("host");
    auto found = std::find_if(out.begin(), out.end(), [&](const PingGrid& grid) {
      return grid.from_host == from_host && grid.to_host == to_host;
    });
    if (found == out.end()) found = out.insert(out.end(), {from_host, to_host, {}, {}, {}});
    note(found->rows, ping_port(from));
    note(found->columns, ping_port(to));
    found->pairs[{ping_port(from), ping_port(to)}] = &pair;
  }
  return out;
}

}  // namespace nnd::cli
