// Many pairs fail, few things are broken: which fewest nodes, HCAs, rails or networks explain them,
// and what speaks against it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/failures.h"

namespace nnd::report {

struct Culprit {
  enum class Kind : std::uint8_t {
    kHca,   // of one host, with its cable and its switch port
    kPort,  // the same of one of its ports
    kHost,
    kPair,     // what lies between two HCAs that work with others
    kRail,     // the HCAs of that name on all hosts
    kSubnet,   // all addresses there
    kPlane,    // subnets that are neighbours by the plan of addresses
    kBetween,  // two subnets
    kAll       // everything that was tried
  };
  Kind kind = Kind::kHca;
  std::string name;  // tells culprits of a kind apart
  // other: of kPair and kBetween; of kHost one that explains as much, so that nobody can tell which
  Place place, other;
  std::size_t explained = 0, failing = 0;    // pairs
  std::size_t working = 0;                   // pairs that it has part in, and that work: against it
  std::size_t subnets = 0, all_subnets = 0;  // of kPlane
  std::string other_end;  // of kHca and kPort: the address at the other end of the cable, if the
                          // plan of addresses tells it
};

// All of them are requests that ended with an error.
bool fails_requests(const std::vector<Failure>& failing);

// `failing`: pairs of ends; `there` is empty where a failure has none. `signs`: what ports told of
// by themselves: an HCA that has part in half of what fails, and said so, is to blame. `doubted`:
// pairs that may fail, too, and count as neither.
std::vector<Culprit> culprits_of(const Picture& picture, const std::vector<Failure>& failing,
                                 const std::vector<Failure>& signs = {},
                                 const std::vector<Failure>& doubted = {});

}  // namespace nnd::report
