#include "cli/preflight/plan.h"

#include <algorithm>

namespace nnd::cli {

std::vector<PingRound> ring_of(const std::vector<HostDescription>& hosts) {
  const std::size_t count = hosts.size();
  std::vector<PingRound> out(count < 2 ? 0 : count == 2 ? 1 : 2 + count % 2);
  const std::size_t links = count == 2 ? 1 : count < 2 ? 0 : count;
  for (std::size_t from = 0; from < links; ++from) {
    const std::size_t to = (from + 1) % count;
    auto lane =
        plan_pairs(from, select_ports(hosts[from], {}), to, select_ports(hosts[to], {}), false);
    const bool closing = count % 2 == 1 && to == 0;
    if (!lane.empty()) out[closing ? 2 : from % 2].push_back(std::move(lane));
  }
  std::erase_if(out, [](const PingRound& round) { return round.empty(); });
  return out;
}

}  // namespace nnd::cli
