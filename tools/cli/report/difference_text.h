// What only comparison showed, in words.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// "mlx5_0 of node2 has 10.200.1.3 and is in 10.200.1.0/24, that of the other 6 processes in
// 10.200.0.0/24"; no full stop.
std::string difference_text(const report::Report& report, const report::Difference& difference);
// "Mbit/s of mlx5_0 is 25000 on node2, and 400000 on the other 3 processes"
std::string odd_text(const report::Deviation& odd);
std::string difference_remedy(const report::Report& report, const report::Difference& difference);

}  // namespace nnd::cli
