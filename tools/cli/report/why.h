// The causal model as it stands: what was observed, and by what each is explained.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/report.h"

namespace nnd::cli {

// The roots first, with what follows from each; alike is told once, with how many.
std::vector<std::string> why_lines(const report::Report& report);
nlohmann::json why_json(const report::Report& report);

}  // namespace nnd::cli
