// From what a call of a collective was given to what its links must carry: nccl-tests,
// doc/PERFORMANCE.md.
#pragma once

#include <optional>
#include <string_view>

namespace nnd::log {

struct BusFactors {
  double data = 1;  // bytes of the operation, by those of the count
  double bus = 1;   // that a link carries, by those of the operation
};

// By NCCL's name ("AllReduce") and the number of ranks. The count is that of one rank's part, which
// all have. None: not known for that function.
std::optional<BusFactors> bus_factors(std::string_view function, double ranks);

}  // namespace nnd::log
