// What a rehearsal showed: which channel used which HCA to which peer, how fast, and what was said.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "softcuda/job.h"

namespace nnd::cli {

// What the ranks of one process did and logged. host_of: by rank. log_events: the shim's events.
nlohmann::json report_part(const softcuda::JobResult& result, double deadline_sec,
                           const std::function<std::string(int)>& host_of,
                           const std::vector<nlohmann::json>& log_events);

// The parts of all processes as one: {"ranks", "collectives", "paths", "connections", "hcas",
// "troubles", "failures", "network", "nccl_warnings"}. A path is what one rank's channels use in
// one direction: HCA and port, and the peer's rank, host and HCA; its bytes are those of its
// connections. Algorithm bandwidth is that of the slowest rank, from host memory, in GB/s.
nlohmann::json merge_parts(const std::vector<nlohmann::json>& parts);

std::string render_rehearsal(const nlohmann::json& merged);

}  // namespace nnd::cli
