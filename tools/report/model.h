// The one causal model of what happened: what was observed, each with the time within which it
// happened, and by what of it each is explained. What nothing explains is a root.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "report/chains.h"
#include "report/ends.h"
#include "report/failures.h"
#include "report/missing.h"
#include "report/span.h"
#include "report/waits.h"

namespace nnd::report {

struct Observation {
  enum class Kind : std::uint8_t {
    kSign,     // a port or an HCA told of trouble                  index: of failures
    kFailure,  // a call or a request failed                        index: of failures
    kStuck,    // the network (or a driver) does not do its work    index: of waits
    kWait,     // a process waits for another one                   index: of waits, its first
    kMaking,   // its communicator is being made
    kEnd,      // a process died, or ended by itself
    kSink,     // where waits end: who is idle, stopped, behind     index: of sinks
    kMissing,  // ranks that left nothing here
    kCount
  };
  enum class How : std::uint8_t {
    kNone,         // it is a root
    kWaitsFor,     // for what the other does not do
    kEchoes,       // it only says that the other failed or ended
    kEndedBy,      // the process was ended, or gave up, because of the other
    kFollowsFrom,  // it fails of the other
    kSameAs,       // both tell of one thing, the other says more
    kCount
  };
  Kind kind = Kind::kFailure;
  std::size_t index = 0;
  std::optional<std::size_t> member;  // whose
  Span when;
  std::optional<std::size_t> by;  // the observation that explains it
  How how = How::kNone;
};
const char* name_of(Observation::Kind kind);
const char* name_of(Observation::How how);

struct Model {
  std::vector<Failure> failures;
  Waits waits;
  std::vector<End> ends;  // by member
  Missing missing;
  std::vector<std::size_t> making;  // processes whose communicators were being made to the last
  // Of those, whose word says most of why; unset: none has told of it.
  std::optional<std::size_t> stuck_making;
  bool blocked = false;  // its ranks: something was seen that keeps them apart

  std::vector<Observation> observations;

  // Where the explanations of an observation end.
  std::size_t root_of(std::size_t observation) const;
  std::vector<std::size_t> roots(Observation::Kind kind) const;
};

Model model_of(const Picture& picture, std::optional<int> expected_ranks);

// Its first communicator waits for others to come, or did so to the last.
bool is_being_made(const Member& member);

}  // namespace nnd::report
