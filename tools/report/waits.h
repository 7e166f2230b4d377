// Who waits for whom, at the end of what the logs tell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/collectives.h"
#include "report/failures.h"

namespace nnd::report {

// A stall that was not over.
struct Wait {
  std::size_t member = 0;
  const log::Stall* stall = nullptr;
  Ns since = 0, told_at = 0;        // for the first time
  std::optional<std::size_t> peer;  // the process it waits for
  // Who waits: that process, or the one of its node for which NCCL sends by it (PXN); unset: that
  // one has no log here.
  std::optional<std::size_t> waiter;
  Place here, there;
  bool lost = false;  // what one end has sent the other has not: see report/two_ends.h

  std::size_t who() const { return waiter.value_or(member); }
  // Only the network (or a driver) explains it; the others may be the program's own doing.
  bool blames_network() const;
  // Its process waits for nobody over the network: it asks for nothing, or no more.
  bool is_for_nobody() const;
};

// Where chains of waiting processes end.
struct Sink {
  enum class Kind : std::uint8_t {
    kIdle,        // it asks the network for nothing
    kStopped,     // its process lives, and does not run
    kDied,        // it is gone
    kLeft,        // it ended by itself
    kSilent,      // its log says nothing of a wait
    kNoLog,       // its log is not here
    kNetwork,     // it waits for the network itself
    kCycle,       // these wait for each other
    kBehind,      // these have not been given the collective that others are inside
    kMismatched,  // these were given another collective than the others
    kNotCome      // these make no communicator, which others wait for
  };
  Kind kind = Kind::kSilent;
  bool by_last_words = false;        // kIdle: nothing shows it before its end
  bool unasked = false;              // kIdle: its NCCL asks no more for what is under way
  std::vector<std::size_t> members;  // empty: kNoLog
  std::string address;               // kNoLog: of the peer
  std::optional<int> rank;           // kNoLog: in its communicator
  std::optional<std::size_t> apart;  // in Waits::apart: where it is, and where the others
  Ns since = 0;                      // when it was last seen to do anything
  Ns needed = 0;                     // when the first began to wait for it, if that is known
  std::size_t waiting = 0;           // processes that wait for it, directly or not

  // Since when others were kept waiting.
  Ns late_since() const { return std::max(since, needed); }
};

struct Waits {
  std::vector<Wait> waits;    // by the time since when
  std::vector<Wait> network;  // those of them that a healthy network never shows: what
                              // an HCA can't send goes before what somebody misses
  std::vector<Wait> passed;   // network waits that were over in the end
  std::vector<Sink> sinks;    // what is known best first, then what most wait for
  std::vector<Apart> apart;   // communicators whose ranks are not in one collective
};

// All but the sinks (report/chains.h).
Waits waits_of(const Picture& picture);

// One that is over when another process does something.
bool is_for_peer(const std::string& kind);

}  // namespace nnd::report
