// What whoever starts the job again should know: how far the trouble reaches, what to leave out,
// and whether the same job may run as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "report/others.h"
#include "report/report.h"

namespace nnd::report {

struct Restart {
  enum class Domain : std::uint8_t {
    kNothing,
    kProcess,  // its program, its GPU, or who ended it
    kHca,      // with its cable and its switch port
    kNode,
    kPair,  // one of two ends, or what lies between
    kRail,
    kFabric,  // subnets, planes, or all of the network
    kJob,     // what its processes or their settings don't have in common
    kUnknown
  };
  enum class Confidence : std::uint8_t {
    kSure,    // what was seen allows nothing else
    kLikely,  // it explains most of it
    kOpen     // it may be something else
  };
  enum class Retry : std::uint8_t {
    kNotNeeded,  // nothing failed
    kAsIs,       // nothing here would end it again
    kWithout,    // without what is to be left out
    kAfterFix,   // it would fail again: a setting, an address, a limit
    kUnknown
  };
  Domain domain = Domain::kUnknown;
  Confidence confidence = Confidence::kOpen;
  Retry retry = Retry::kUnknown;
  std::vector<Place> exclude;   // nodes, or HCAs of nodes, that are to blame
  std::vector<Place> suspects;  // one of them is, and nobody can tell which
};
const char* name_of(Restart::Domain domain);
const char* name_of(Restart::Confidence confidence);
const char* name_of(Restart::Retry retry);

Restart restart_of(const Report& report);
// Where no event log tells of the job.
Restart restart_of(const ForeignFindings& others);

}  // namespace nnd::report
