#include "cli/report/restart_json.h"

#include <vector>

namespace nnd::cli {

namespace {

nlohmann::json places_json(const std::vector<report::Place>& places) {
  auto out = nlohmann::json::array();
  for (const auto& place : places) {
    auto& one = out.emplace_back(nlohmann::json::object());
    if (!place.host.empty()) one["host"] = place.host;
    if (!place.dev.empty()) one["device"] = place.dev;
    if (place.port != 0) one["port"] = place.port;
  }
  return out;
}

}  // namespace

nlohmann::json restart_json(const report::Restart& restart) {
  return {{"domain", report::name_of(restart.domain)},
          {"confidence", report::name_of(restart.confidence)},
          {"retry", report::name_of(restart.retry)},
          {"exclude", places_json(restart.exclude)},
          {"suspects", places_json(restart.suspects)}};
}

}  // namespace nnd::cli
