// What each rank of a job holds, and whether that became more.
#pragma once

#include <cstdio>
#include <vector>

#include "driver/job.h"
#include "resources.h"

namespace nnd::soak {

inline std::vector<Resources> held_by(driver::Job& job) {
  std::vector<Resources> out;
  for (int rank = 0; rank < static_cast<int>(job.size()); ++rank)
    out.push_back(least_of(job.rank(rank).pid()));
  return out;
}

// Prints both.
inline bool hold_no_more(driver::Job& job, const std::vector<Resources>& before) {
  bool out = true;
  for (std::size_t rank = 0; rank < before.size(); ++rank) {
    const auto after = settled(job.rank(static_cast<int>(rank)).pid(), before[rank]);
    std::fputs(table(rank, before[rank], after).c_str(), stderr);
    out = out && after.holds_no_more_than(before[rank]);
  }
  return out;
}

}  // namespace nnd::soak
