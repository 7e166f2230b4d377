// A report for programs: include/nccl_net_diag/report.schema.json.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/report/words.h"

namespace nnd::cli {

nlohmann::json report_json(const report::Report& report, const report::Input& input,
                           const Words& words, const std::vector<JobLine>& jobs);

}  // namespace nnd::cli
