// What a short job at the end of a preflight comes to. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/preflight/allocation.h"
#include "cli/rehearse/task_report.h"

namespace nnd::cli {

// One rank, on a host of its own.
struct PlayedTask {
  std::string host;
  std::optional<TaskReport> part;  // what it reported
  std::string cannot;              // why it could not begin, one clause
  std::string gone;                // why nothing more is heard of it, one clause

  bool told() const { return part || !cannot.empty() || !gone.empty(); }
  bool fine() const { return part && part->failures.empty(); }
};

struct ShortJob {
  std::vector<PlayedTask> tasks;
  double seconds = 0;  // that it had
  bool late = false, interrupted = false;
};

// Those of so many hosts that play: all, or some, spread out; in order.
std::vector<std::size_t> players_of(std::size_t hosts);

struct ShortJobResult {
  std::optional<Finding> finding;  // neither this nor a problem: every byte was right
  std::string problem;             // why it says nothing, a sentence
};

ShortJobResult result_of(const ShortJob& job);

}  // namespace nnd::cli
