#include "report/jobs.h"

#include <algorithm>
#include <map>

#include "report/runs.h"

namespace nnd::report {

std::vector<JobRun> jobs_of(const Input& input) {
  std::vector<JobRun> out;
  std::map<std::string, std::size_t> incarnations;
  for (const auto& run : runs_of(input.job)) {
    JobRun one;
    one.processes = run.size();
    for (const auto* process : run) {
      if (one.job.empty()) one.job = process->launch.job;
      const Ns first = static_cast<Ns>(process->first_ns) + process->clock_ns;
      const Ns last = static_cast<Ns>(process->last_ns) + process->clock_ns;
      one.first = one.first == 0 ? first : std::min(one.first, first);
      one.last = std::max(one.last, last);
    }
    one.incarnation = ++incarnations[one.job];
    out.push_back(std::move(one));
  }
  return out;
}

std::size_t job_to_judge(const std::vector<JobRun>& jobs, const std::vector<Outcome>& outcomes) {
  constexpr Ns kStartsAgain =
      900'000'000'000;  // a launcher or a scheduler starts again within that
  std::size_t out = jobs.size() - 1;
  for (std::size_t at = out;; --at) {
    if (outcomes[at] == Outcome::kFailed) return at;
    if (outcomes[at] == Outcome::kUnknown && outcomes[out] == Outcome::kFine) out = at;
    if (at == 0 || jobs[at - 1].job != jobs[at].job ||
        jobs[at].first - jobs[at - 1].last > kStartsAgain)
      return out;
  }
}

}  // namespace nnd::report
