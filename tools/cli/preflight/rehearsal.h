// A short NCCL job at the end of a preflight, one rank a host, as `rehearse` runs it: over the
// connections of the pings.
//
//   {"do": "rehearse", "task", "tasks", "seconds"}   to each host
//   {"id"}         the communicator's identity, from the first host, and then to the others
//   {"over": true} to a host: another one failed, or the time is over
//   {"report"}     a host's last word: its part; or {"cannot": why}
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/ping/rank.h"
#include "cli/preflight/short_job.h"
#include "wire/json_socket.h"

namespace nnd::cli {

// What a host does when it is asked to take part.
FurtherRequest take_part_in(const RankSetup& setup);

struct Player {
  std::string host;
  wire::JsonSocket* socket = nullptr;
};

// stop: asked several times a second.
ShortJob rehearse_between(const std::vector<Player>& players, double seconds,
                          const std::function<bool()>& stop);

}  // namespace nnd::cli
