// Which ranks have left nothing here.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/collectives.h"

namespace nnd::report {

struct Missing {
  std::optional<int> expected;  // processes; unset: nobody says
  bool asked = false;           // the caller expects that many, not only a launcher's variable
  std::set<int> ranks;          // that have no log
  int unnamed = 0;              // more that are missing: who, can't be said
  bool came = false;            // they were there: only their logs are not
  std::vector<std::size_t> unloaded;   // have a log, in which the plugin says nothing of itself
  std::vector<Incomplete> incomplete;  // communicators that not all their ranks tell of
  std::vector<std::size_t> alone;      // never asked for a connection, while others did
  std::map<int, std::set<std::string>> counted;  // hosts, by how many ranks launchers tell there
  bool is_counted_unlike() const { return counted.size() > 1; }
  bool any() const { return !ranks.empty() || unnamed > 0; }
};

Missing missing_of(const Picture& picture, std::optional<int> expected_ranks);

// A rank that has no log here may be of the process's node, by the launcher's local ranks, or that
// of one there is cut off.
bool lacks_neighbours(const Picture& picture, const Missing& missing, std::size_t member);

}  // namespace nnd::report
