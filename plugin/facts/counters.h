// What the ports that this process uses have counted since it began to use them: packets,
// retransmissions, errors. A port counts for all who use it, so another job's trouble is in it too.
// Values come from sysfs, and only on the control path: at a port's first QP, where a completion
// failed, and at the end. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nnd::facts {

// By how much each counter has grown, by name; those that have not grown are left out.
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

// Where sysfs is; nothing is read before. The summary tells the counts from then on.
void watch_counters(const std::string& sysfs);

// From now on, for a port that isn't counted yet.
void count_port(std::string_view device, unsigned port);

// At most 100 ms old: failures come in bursts.
Counts counted(std::string_view device, unsigned port);

}  // namespace nnd::facts
