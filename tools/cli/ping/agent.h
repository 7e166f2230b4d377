// A host's side of a ping: does what the conducting side asks, until that is over.
#pragma once

#include <functional>
#include <string>

#include "cli/ping/rank.h"
#include "wire/json_socket.h"

namespace nnd::cli {

struct PingServed {
  bool finished = false;  // the other side said that it is over, in words that are good news
  std::string why;        // how it ended, one clause
  int attempts = 0;
};

// stop: asked several times a second; true: says so to the other side and leaves.
PingServed serve_ping(wire::JsonSocket& socket, const RankSetup& setup,
                      const std::function<bool()>& stop);

}  // namespace nnd::cli
