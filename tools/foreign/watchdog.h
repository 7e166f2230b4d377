// What PyTorch's watchdog (ProcessGroupNCCL) prints when a collective times out: how far its rank
// is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foreign/fact.h"
#include "foreign/flight_dump.h"

namespace nnd::foreign {

// Takes a job's output line by line. One thread at a time.
class Watchdog {
 public:
  void take(std::string_view line, std::uint64_t number);
  // Of each rank that told of itself, as its dump would show it: of the group's members only those
  // below the highest rank that told are known, and where the group has a name none.
  std::vector<FlightDump> dumps(const std::string& file) const;
  // That a collective of theirs timed out: the first line of each rank that says so.
  const std::vector<Fact>& timeouts() const { return timeouts_; }

 private:
  struct Progress {
    std::int64_t enqueued = -1, completed = -1;
  };
  std::map<std::pair<int, std::string>, Progress> told_;  // by rank and group
  void note_timeout(std::string_view line, std::uint64_t number, int rank);
  bool in_one_group() const;

  std::vector<Fact> timeouts_;
  std::map<int, FlightCall> timed_out_;  // by rank: the first
};

}  // namespace nnd::foreign
