// Words for whom a job waited for, as its processes told each other (report/named.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/report.h"

namespace nnd::cli {

// "rank 3 (node1, pid 812)"
std::string process_text(std::optional<int> rank, const std::string& host,
                         std::optional<std::int64_t> pid);
// Only where report.named is.
std::string named_text(const report::Report& report);

}  // namespace nnd::cli
