#include "log/bus_factors.h"

namespace nnd::log {

std::optional<BusFactors> bus_factors(std::string_view function, double ranks) {
  if (function == "AllReduce") return BusFactors{1, 2 * (ranks - 1) / ranks};
  if (function == "Broadcast" || function == "Reduce") return BusFactors{1, 1};
  for (const auto* one : {"AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter"})
    if (function == one) return BusFactors{ranks, (ranks - 1) / ranks};
  return std::nullopt;
}

}  // namespace nnd::log
