// Which rank comes last to the collectives of a job that runs. A collective ends for all its ranks
// at about the same time, so the one that was in it for the shortest time came last: no clocks are
// compared. Each process tells its peers what it knows of those in which somebody waited. No I/O
// and no clock of its own. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "state/awaited.h"

namespace nnd::peers {

// How long this process was in a collective.
struct Stay {
  std::uint64_t comm = 0, ordinal = 0;
  std::uint32_t us = 0;
};

// One collective, as far as those have told of it that were in it.
struct Arrival {
  std::uint64_t comm = 0, ordinal = 0;
  std::uint32_t shortest_us = 0, longest_us = 0;
  state::Who last;           // who was in it for the shortest time
  std::uint32_t age_ms = 0;  // since somebody first told of it
};

inline constexpr std::size_t kArrivalsAtOnce = 5;

class Arrivals {
 public:
  // In their order, soon after they have ended. Times are milliseconds of any clock that doesn't go
  // back.
  void stayed(const Stay& stay, const state::Who& self, std::uint64_t now_ms);
  void heard(const std::vector<Arrival>& told, const state::Who& self, std::uint64_t now_ms);
  // What others should hear, the newest first; nothing while nobody waits.
  std::vector<Arrival> to_tell(std::uint64_t now_ms) const;

  // Who came last in seven of eight of those in which somebody waited, and in eight at least.
  state::Latecomer latecomer(std::uint64_t now_ms);

 private:
  struct Known {
    Arrival arrival;
    std::uint64_t since_ms = 0;
    bool mine = false;  // it has this process's own stay
    bool judged = false;
  };
  struct Judged {
    state::Who last;       // nobody: they came together, or not all have told
    std::uint32_t us = 0;  // for how long the others waited
  };
  static Judged judged(const Arrival& one);
  struct Recent {  // of one communicator, by ordinal
    std::vector<Stay> stays;
    std::uint64_t used_ms = 0;
  };

  void note(const Stay& stay, const state::Who& self, std::uint64_t now_ms);
  Known* find(std::uint64_t comm, std::uint64_t ordinal);
  Recent& recent(std::uint64_t comm, std::uint64_t now_ms);
  const Stay* own(std::uint64_t comm, std::uint64_t ordinal) const;
  void judge(std::uint64_t now_ms);

  std::map<std::uint64_t, Recent> recent_;
  std::vector<Known> known_;  // the oldest first
  std::deque<Judged> judged_;
  Stay longest_;  // of the time that began then
  std::uint64_t began_ms_ = 0;
  std::uint64_t noted_ms_ = 0;  // when it last began to know of one
};

}  // namespace nnd::peers
