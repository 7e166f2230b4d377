// What a rehearsal showed: which channel used which HCA to which peer, how fast, and what was said.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/rehearse/task_report.h"

namespace nnd::cli {

// What one rank's channels use in one direction. Its bytes are those of its connections.
struct Path {
  int rank = 0, peer_rank = -1;  // -1: unknown
  log::Direction dir = log::Direction::kSend;
  std::string host, hca, peer_host, peer_hca;  // of the peer empty where unknown
  std::set<int> channels;  // none: no channel of NCCL's lines, since it failed before
  int connections = 0;
  std::uint64_t bytes = 0, failed = 0;
};

struct Rehearsal {
  TaskReport all;                          // the parts of all tasks
  std::vector<CollectiveRun> collectives;  // the slowest rank's time counts
  std::vector<Path> paths;
  std::set<std::string> networks, nccl_warnings;
  // GB/s that the ports which the ranks used carry each way, of the node that has least; unset: a
  // speed isn't known, or ranks of one host went through the network to each other.
  std::optional<double> allowed;
};

Rehearsal merge_task_reports(std::vector<TaskReport> parts);

// Algorithm bandwidth, from host memory.
double gb_per_s(const CollectiveRun& run);
// Bus bandwidth as nccl-tests define it; none for fewer than two ranks.
std::optional<double> bus_gb_per_s(const CollectiveRun& run, std::size_t ranks);

// docs/rehearse.md; of a connection also the peer's rank and HCA where its other end is known.
nlohmann::json to_json(const Rehearsal& rehearsal);

std::string rehearsal_page(const Rehearsal& rehearsal, const Screen& screen);
std::vector<std::string> rehearsal_lines(const Rehearsal& rehearsal);  // one per path

}  // namespace nnd::cli
