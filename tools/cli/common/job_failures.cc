#include "cli/common/job_failures.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/common/number_list.h"

namespace nnd::cli {

namespace {

std::string cause_of(const softcuda::RankResult& rank, double deadline_sec) {
  if (rank.late) return fmt::format("not done after {:g} s", deadline_sec);
  if (!rank.error.empty()) return rank.error;
  if (rank.signal)
    return fmt::format("ended by signal {} ({})", *rank.signal, strsignal(*rank.signal));
  return rank.done || rank.stopped ? "" : "ended without a word";
}

}  // namespace

std::vector<std::string> failures_of(const softcuda::JobResult& result, double deadline_sec) {
  std::vector<std::string> out;
  if (!result.error.empty()) out.push_back(result.error);
  std::vector<std::pair<std::string, std::set<int>>> causes;
  for (const auto& rank : result.ranks) {
    const auto cause = cause_of(rank, deadline_sec);
    if (cause.empty()) continue;
    const auto same = std::find_if(causes.begin(), causes.end(),
                                   [&](const auto& one) { return one.first == cause; });
    if (same == causes.end())
      causes.push_back({cause, {rank.rank}});
    else
      same->second.insert(rank.rank);
  }
  for (const auto& [cause, ranks] : causes)
    out.push_back(fmt::format("{}: {}", rank_list(ranks), cause));
  return out;
}

}  // namespace nnd::cli
