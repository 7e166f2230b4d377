// A drawn job, played: what it left, and what the tool said of it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "verdict/case.h"
#include "verdict/collect.h"
#include "verdict/moments.h"

namespace nnd::verdict {

struct Played {
  std::string trouble;     // why the job was no job; empty where it was one
  bool ran = false;        // to its end, in spite of all
  bool fault_met = false;  // an emulated fault
  // Ranks whose program came to its end, or ended itself when it found wrong data.
  std::set<int> done;
  Collection collection;
  std::string line;  // the headline: the first paragraph
  int exit_code = -1;
  nlohmann::json report;
  std::vector<std::string> alarms;  // events at warn or error
  Moments moments;
  std::map<int, int> pids;          // by rank
  std::map<int, std::string> logs;  // by rank: its whole log's file
  std::vector<Played> alone;        // the same report on one rank's log; at most one
};

// dir: an empty directory of its own, which then holds what was collected, in "logs", and what
// there was, in "all". alone: one rank that lived is drawn, and its log is reported of by itself.
Played play(const Case& one, const std::filesystem::path& dir, bool alone = false);

}  // namespace nnd::verdict
