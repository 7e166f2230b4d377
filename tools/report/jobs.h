// The jobs that the input tells of, and which of them is the one to be judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/input.h"
#include "report/span.h"

namespace nnd::report {

// One job as it ran once: a restart is another incarnation of it.
struct JobRun {
  std::string job;              // the launcher's id; empty: not known
  std::size_t incarnation = 1;  // of those with this id that are here
  std::size_t processes = 0;
  Ns first = 0, last = 0;
};

// By when each was alive last, as picture_of() counts them.
std::vector<JobRun> jobs_of(const Input& input);

enum class Outcome : std::uint8_t {
  kFine,
  kUnknown,  // its logs just end
  kFailed,   // a cause was found
};

// `outcomes`: of each. The last one counts; where nothing is wrong with it, the failed incarnation
// that it was started after, or one without a word of an end, if none failed.
std::size_t job_to_judge(const std::vector<JobRun>& jobs, const std::vector<Outcome>& outcomes);

}  // namespace nnd::report
