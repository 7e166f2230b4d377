// Runs a NCCL job on this machine: one process per rank, started from the calling program itself.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "job_spec.h"

namespace softcuda {

struct RankResult {
  int rank = 0;
  bool done = false;                   // did all of its actions
  std::string error;                   // what NCCL or softcuda said
  std::optional<int> signal;           // that ended the process
  bool late = false;                   // not done at the deadline
  bool stopped = false;                // not done when the job was stopped
  std::vector<nlohmann::json> events;  // as in rank.h, in order
  std::string output;                  // its stdout and stderr
  std::string stacks;                  // at the deadline: where its threads stood
};

struct JobResult {
  std::vector<RankResult> ranks;
  double seconds = 0;
  std::string error;                  // not empty: the job couldn't be started
  std::vector<std::string> segments;  // files that NCCL made in /dev/shm; they are gone now
  bool ok() const;
};

// Called in the parent for every event of a rank, and for two of its process that are in no result:
// started (with its "pid") and ended.
using JobProgress = std::function<void(const nlohmann::json& event)>;
// Asked in the parent several times a second: true ends the job.
using JobStop = std::function<bool()>;

// The ranks that run on this machine, where the job's others run elsewhere.
struct JobPart {
  int first_rank = 0, ranks = 1;
  int first_gpu = 0;  // of the places in JobSpec::gpus; the next rank has the next one
  // The identity of the job's communicator, as text. Where rank 0 is here it is handed out; else
  // `get_id` is asked for it several times a second.
  std::function<void(const std::string&)> hand_out_id;
  std::function<std::optional<std::string>()> get_id;
};

// A program that runs jobs calls this first thing in main: in a process that is to be a rank it
// does a rank's work and gives the exit status; else it gives nothing.
std::optional<int> run_as_rank();

// Starts the ranks, by executing this program (/proc/self/exe) again, and waits until all have
// ended, the deadline has passed or `stop` wants it. Ranks that are not done then get SIGTERM, on
// which they leave in good order, and SIGKILL a few seconds later. No process is left behind, also
// when this one is killed; a terminal's Ctrl-C reaches this one alone. Not to be called from two
// threads at once.
JobResult run_job(const JobSpec& spec, const JobProgress& progress = {}, const JobStop& stop = {});

// The same for a part of a job: it makes one communicator, and NCCL finds out by itself who is on
// which machine (no NCCL_HOSTID). JobSpec::gpus holds a place for each rank of the part.
JobResult run_job_part(const JobSpec& spec, const JobPart& part, const JobProgress& progress,
                       const JobStop& stop);

nlohmann::json to_json(const JobResult& result);

}  // namespace softcuda
