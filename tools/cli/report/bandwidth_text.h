// How fast collectives went, in words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/bandwidth.h"

namespace nnd::cli {

// Those that took most of the time, a line each.
std::vector<std::string> bandwidth_lines(const std::vector<report::Bandwidth>& bandwidths);
nlohmann::json bandwidth_json(const std::vector<report::Bandwidth>& bandwidths);

}  // namespace nnd::cli
