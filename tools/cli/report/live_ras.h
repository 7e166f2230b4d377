// What NCCL's RAS says of a job on this node while it runs.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "foreign/ras_client.h"

namespace nnd::cli {

// Asked in the background, every 15 s, as long as it is looked at. Never waits. Of one thread.
class LiveRas {
 public:
  LiveRas() : client_(foreign::ras_address()) {}

  // Of the job that has any of these processes; empty: nothing is wrong by it, or it is another
  // job's, or none.
  const std::string& look(const std::set<std::int64_t>& pids);
  // The same, where it is not what was said before.
  std::string news(const std::set<std::int64_t>& pids);

 private:
  foreign::RasClient client_;
  std::string said_, key_, told_;
};

}  // namespace nnd::cli
