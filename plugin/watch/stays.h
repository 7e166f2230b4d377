// How long this process was in the collectives that have ended since the last look, for its peers
// (peers/arrivals.h). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "peers/arrivals.h"
#include "state/communicator.h"

namespace nnd::watch {

class Stays {
 public:
  std::vector<peers::Stay> look();
  void forget() { seen_.clear(); }

 private:
  struct Seen {
    std::uint64_t ordinal = 0;  // up to there
    std::uint64_t ended = 0;    // CPU counter, when the last of them did
  };
  void look(const state::Communicator& communicator, std::uint64_t comm,
            std::vector<peers::Stay>& out);

  std::map<std::uint64_t, Seen> seen_;  // by communicator
};

}  // namespace nnd::watch
