// One word on the network of a process, at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diagnosis/stall.h"

namespace nnd::diagnosis {

struct NetworkHistory {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;     // sent and received
  std::uint64_t failures = 0;  // and the first of them, of those that nobody got over if there are
  bool all_over = false;       // everything that failed works again
  Cause cause{};
  std::string device, peer;  // empty: not known
  // The longest that the network is to blame for, and the longest wait for a peer; sec 0: none.
  Stall stalled, waited;
  bool worse_port = false;
  std::string
      awaited;  // "in the end for rank 3 of node1 (pid 812), which has ended"; empty: nobody
};

struct NetworkVerdict {
  std::string_view verdict;  // "healthy", "degraded", "stalled", "failed"
  std::string sentence;
};
NetworkVerdict judge(const NetworkHistory& seen);

}  // namespace nnd::diagnosis
