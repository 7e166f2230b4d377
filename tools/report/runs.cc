#include "report/runs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace nnd::report {

namespace {

using Ns = std::int64_t;
constexpr Ns kSlack = 60'000'000'000;  // between the starts of one job's processes; clocks differ

Ns begin_of(const log::Process& process) {
  return static_cast<Ns>(process.first_ns) + process.clock_ns;
}
Ns end_of(const log::Process& process) {
  return static_cast<Ns>(process.last_ns) + process.clock_ns;
}

class Sets {
 public:
  explicit Sets(std::size_t size) : parents_(size) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }
  std::size_t root(std::size_t at) {
    while (parents_[at] != at) at = parents_[at] = parents_[parents_[at]];
    return at;
  }
  void join(std::size_t a, std::size_t b) { parents_[root(a)] = root(b); }

 private:
  std::vector<std::size_t> parents_;
};

// Processes that talk to each other.
std::vector<Run> connected(const std::vector<const log::Process*>& all) {
  std::unordered_map<std::string, std::size_t> by_proc;
  for (std::size_t i = 0; i < all.size(); ++i) by_proc[all[i]->proc] = i;
  Sets sets(all.size());
  const auto join = [&](std::size_t i, const std::string& proc) {
    if (const auto other = by_proc.find(proc); other != by_proc.end()) sets.join(i, other->second);
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto& [number, connection] : all[i]->connections) {
      join(i, connection.peer.proc);
      join(i, connection.link.proc);
    }
  std::map<std::size_t, Run> out;
  for (std::size_t i = 0; i < all.size(); ++i) out[sets.root(i)].push_back(all[i]);
  std::vector<Run> runs;
  for (auto& [root, run] : out) runs.push_back(std::move(run));
  return runs;
}

// What is known of a run without looking at its processes.
struct Outline {
  Run run;
  std::set<int> ranks;
  std::set<std::string> jobs;
  // Which time it was, by the launcher: its own id inside the job, requeues and restarts.
  std::set<std::tuple<std::string, int, int>> incarnations;
  Ns first, last, last_begin;

  explicit Outline(Run of)
      : run(std::move(of)), first(begin_of(*run[0])), last(end_of(*run[0])), last_begin(first) {
    for (const auto* process : run) add(*process);
  }
  void add(const log::Process& process) {
    if (process.rank) ranks.insert(*process.rank);
    const auto& launch = process.launch;
    if (!launch.job.empty()) jobs.insert(launch.job);
    if (!launch.run.empty() || launch.requeues || launch.restarts)
      incarnations.emplace(launch.run, launch.requeues.value_or(0), launch.restarts.value_or(0));
    first = std::min(first, begin_of(process));
    last = std::max(last, end_of(process));
    last_begin = std::max(last_begin, begin_of(process));
  }
  bool may_be_with(const Outline& other) const {
    if (!jobs.empty() && !other.jobs.empty() && jobs != other.jobs) return false;
    if (!incarnations.empty() && !other.incarnations.empty() && incarnations != other.incarnations)
      return false;
    if (std::any_of(ranks.begin(), ranks.end(), [&](int one) { return other.ranks.contains(one); }))
      return false;
    return other.first <= last_begin + kSlack || other.first <= last;
  }
  void take(const Outline& other) {
    for (const auto* process : other.run) {
      run.push_back(process);
      add(*process);
    }
  }
};

}  // namespace

std::vector<Run> runs_of(const log::Job& job) {
  std::vector<Outline> parts;
  for (auto& run : connected(job.processes())) parts.emplace_back(std::move(run));
  std::sort(parts.begin(), parts.end(),
            [](const Outline& a, const Outline& b) { return a.first < b.first; });
  std::vector<Outline> runs;
  for (const auto& part : parts) {
    const auto same = std::find_if(runs.rbegin(), runs.rend(),
                                   [&](const Outline& run) { return run.may_be_with(part); });
    if (same != runs.rend())
      same->take(part);
    else
      runs.push_back(part);
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Outline& a, const Outline& b) { return a.last < b.last; });
  std::vector<Run> out;
  for (auto& run : runs) out.push_back(std::move(run.run));
  return out;
}

}  // namespace nnd::report
