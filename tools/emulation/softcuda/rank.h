// One rank of a job, in a process of its own.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "job_spec.h"
#include "nccl_api.h"

namespace softcuda {

// How a rank talks to whoever started it.
struct RankLinks {
  // One line of what happened: {"rank", "event", ...}. Events: loaded, created, split, collective,
  // destroyed, aborted, error, stopped (by SIGTERM), done; segment: a file of NCCL's in /dev/shm.
  std::function<void(const nlohmann::json&)> report;
  // The identity of the next communicator: rank 0's is given, the others' is returned. Not called
  // where NCCL_COMM_ID (host:port) is in the environment: NCCL then makes the same identity
  // everywhere, for one communicator at a time.
  std::function<NcclUniqueId(std::optional<NcclUniqueId>)> exchange_id;
  // Returns when all have called it.
  std::function<void()> meet;
};

// Loads and attaches the library and does the job's actions. 0, or 1 after an "error" or "stopped"
// event; SIGTERM, and SIGINT where it isn't ignored, end it within seconds. To be
// called in a process that hasn't loaded libnccl.
int run_rank(const RankSpec& spec, const RankLinks& links);

}  // namespace softcuda
