// Carrying out a rehearsal: all of it on this host, or as one task of a launcher's.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/common/launcher.h"
#include "cli/rehearse/plan.h"
#include "cli/rehearse/report.h"

namespace nnd::cli {

struct RehearseRun {
  RehearsePlan plan;           // all set but what the launcher says
  std::string scenario;        // file of the emulated fabric; empty: this machine's own HCAs
  std::string hosts;           // a directory of this process's own, for emulated hosts
  std::string token;           // that all tasks of a launcher know
  std::function<bool()> stop;  // asked several times a second: true ends it
  std::function<void(const nlohmann::json&)> progress;  // rank.h's events of rank 0, if it is here
  std::function<void(const std::string&)> tell;         // other progress, one line each
};

// How a task of a job learns of the others, and they of it.
struct TaskLinks {
  std::function<void(const std::string&)> hand_out_id;  // of the communicator, by the first task
  std::function<std::optional<std::string>()> get_id;   // once it is there, in the others
  std::function<bool()> over;  // asked several times a second: true ends it
};

// One task of a job, in a process that is on its host already, emulated or not: what it did.
// plan.nodes: the job's tasks. Throws CallError.
TaskReport run_own_task(const RehearseRun& run, int task, const TaskLinks& links);

// All of it. Throws CallError.
Rehearsal run_on_this_host(const RehearseRun& run);

// As a task. Task 0 gives the merged parts of all, the others their own one. Throws CallError.
Rehearsal run_as_task(const RehearseRun& run, const LaunchedTask& task, const std::string& root);

}  // namespace nnd::cli
