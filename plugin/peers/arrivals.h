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
  static constexpr std::uint32_t kNone = ~0u;
  std::uint64_t comm = 0, ordinal = 0;
  std::uint32_t shortest_us = 0;
  std::uint32_t next_us = 0;  // the shortest of all others; kNone: nobody else has told
  state::Who last;            // who was in it for the shortest time
  std::uint32_t age_ms = 0;   // since somebody first told of it
};

inline constexpr std::size_t kArrivalsAtOnce = 5;

// What a process tells another.
struct Arrived {
  std::vector<Arrival> arrivals;
  state::Latecomer latecomer;  // whom it names, by what it has compared itself or been told of
  std::uint32_t age_ms = 0;    // since somebody did so by what it had compared

  bool empty() const { return arrivals.empty() && !latecomer.known(); }
};

class Arrivals {
 public:
  // In their order, soon after they have ended. Times are milliseconds of any clock that doesn't go
  // back.
  void note_own_stay(const Stay& stay, const state::Who& self, std::uint64_t now_ms);
  void heard(const Arrived& told, const state::Who& self, std::uint64_t now_ms);
  // The newest first; nothing while nobody waits.
  Arrived to_tell(std::uint64_t now_ms);

  // Who came last in seven of eight of those in which somebody waited, and in eight at least; or
  // whom others name so, who are nearer to it.
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
    std::uint32_t us = 0;  // for how long the others waited, at least
  };
  static Judged judged(const Arrival& one);
  struct Recent {  // of one communicator, by ordinal
    std::vector<Stay> stays;
    std::uint64_t used_ms = 0;
  };

  void note(const Stay& stay, const state::Who& self, std::uint64_t now_ms);
  Known* find(std::uint64_t comm, std::uint64_t ordinal);
  Known& add(Known known, std::uint64_t now_ms);
  Recent& recent(std::uint64_t comm, std::uint64_t now_ms);
  const Stay* own(std::uint64_t comm, std::uint64_t ordinal) const;
  void judge(std::uint64_t now_ms);
  void take(const Arrival& one, const state::Who& self, std::uint64_t now_ms);
  state::Latecomer compared(std::uint64_t now_ms);

  std::map<std::uint64_t, Recent> recent_;
  std::vector<Known> known_;  // the oldest first
  std::deque<Judged> judged_;
  state::Latecomer told_;
  std::uint64_t told_ms_ = 0;  // when somebody named it by what it had compared
  Stay longest_;               // of the time that began then
  std::uint64_t began_ms_ = 0;
  std::uint64_t noted_ms_ = 0;  // when it last began to know of one
};

}  // namespace nnd::peers
