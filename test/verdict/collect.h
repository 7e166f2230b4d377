// What is collected of a job's logs.
#pragma once

#include <filesystem>
#include <set>

#include "verdict/case.h"

namespace nnd::verdict {

struct Collection {
  std::set<int> ranks = {};  // whose log is there, and was not cut
  bool boxes = true;
  bool complete() const { return boxes && whole; }
  bool whole = true;  // every process's log is there, and uncut
};

// pids: of the ranks that were started.
Collection collect(const Case& one, const std::filesystem::path& from,
                   const std::filesystem::path& into, const std::map<int, int>& pids);

}  // namespace nnd::verdict
