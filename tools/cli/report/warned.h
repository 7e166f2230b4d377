// What a job that works was warned of, for its first sentence.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// "mlx5_3 of node0, node1: GID-LINKLOCAL, ...", the worst first; empty: of nothing.
std::string warned_text(const report::Report& report);

}  // namespace nnd::cli
