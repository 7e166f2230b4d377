// What the Flight Recorders of a job's ranks show together: who has not called what others wait in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foreign/flight_dump.h"

namespace nnd::report {

struct Flight {
  enum class Kind : std::uint8_t {
    kBehind,      // `guilty` have not called what the others wait in
    kMismatched,  // `guilty`, fewer than the others, called something else there
    kNoDump,      // all that left a dump wait; `guilty` left none
    kAllIn  // all that tell of the group called the same, and it doesn't end; `guilty`: who called
            // fewer after it, which may be why
  };
  Kind kind = Kind::kAllIn;
  bool by_watchdog = false;  // there are no dumps, but what watchdogs printed
  std::string group;
  foreign::FlightCall call;          // that most wait in
  std::vector<int> waiting, guilty;  // ranks
  std::optional<foreign::FlightCall>
      other;  // of the first guilty: its last one, or what it called instead
  bool network_cleared() const { return kind == Kind::kBehind || kind == Kind::kMismatched; }
};

// Unset: nobody waits. Dumps of an earlier run count as none.
std::optional<Flight> flight_of(const std::vector<foreign::FlightDump>& dumps);

}  // namespace nnd::report
