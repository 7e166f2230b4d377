// What NCCL's RAS showed, in words and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/ras.h"

namespace nnd::cli {

// "rank 3 (10.0.0.2, pid 22) is dead to RAS", with when RAS was asked.
std::string ras_text(const report::Ras& ras);
// What to do.
std::string ras_remedy(const report::Ras& ras);
nlohmann::json ras_json(const report::Ras& ras);

}  // namespace nnd::cli
