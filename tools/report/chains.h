// Processes that wait for each other's data form chains: where these end.
#pragma once

#include <optional>
#include <vector>

#include "report/ends.h"
#include "report/waits.h"

namespace nnd::report {

struct Chains {
  std::vector<Sink> sinks;                     // what is known best first, then by who waits
  std::vector<std::optional<std::size_t>> by;  // of each process: the sink that it waits for
};

// `stuck`: what waits for the network itself, and not for a process that is gone or stopped.
Chains chains_of(const Picture& picture, const std::vector<Wait>& open,
                 const std::vector<const Wait*>& stuck, const std::vector<End>& ends);

// It lives, and does not run.
bool is_stopped(const Member& member);
bool is_surely_stopped(const Member& member);

// Somebody who is known to be late, gone or stopped; others may wait for a reason of their own.
bool is_known(Sink::Kind kind);

}  // namespace nnd::report
