// What whoever starts the job again should know, for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "report/restart.h"

namespace nnd::cli {

nlohmann::json restart_json(const report::Restart& restart);

}  // namespace nnd::cli
