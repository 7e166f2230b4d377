// Where the processes of each communicator are in its collectives, which all its ranks must be
// given in one order. Only where somebody is inside one that has begun over the network and not
// ended, or gave one up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/picture.h"

namespace nnd::report {

// Processes that are at one collective.
struct Stand {
  log::Task task;
  std::vector<std::size_t> members;
  log::Calls calls;  // that they were given and others weren't; `exact`: of just that size
  bool exact = false;
};

struct Apart {
  enum class Kind : std::uint8_t {
    kBehind,     // these have not been given what the others are inside
    kMismatched  // the same collective of the communicator is another one for these
  };
  Kind kind = Kind::kBehind;
  std::string comm;
  Stand most,
      others;  // others: the guilty of kBehind; fewer than the first, where it is kMismatched
  bool by_calls = false;   // kMismatched: the stands' `calls` count, and not their `task`
  bool by_counts = false;  // kBehind: what their programs have called tells, and no wait of theirs
  std::size_t inside = 0;  // processes that wait in `most`
  Ns since = 0;            // as far as is known: by then they did
};

// A communicator of which not all ranks have told.
struct Incomplete {
  std::string comm;
  int nranks = 0;
  std::size_t missing = 0;
  std::set<int> ranks;  // in it: the first of those that are missing
};

// Processes that tell of a wait which was not over; these are not late.
struct Waiting {
  std::set<std::size_t> all, for_data;  // that a peer is to send
};
std::vector<Apart> apart_in_collectives(const Picture& picture, const Waiting& waiting = {});
// By process, those that were given fewest collectives of a communicator, and not one which it was:
// it waits for them, where that is not seen too. Of many, some.
std::map<std::size_t, std::set<std::size_t>> waits_by_collectives(const Picture& picture);
// Of communicators whose ranks all came to their ends: as many collectives, and not the same ones.
// NCCL doesn't notice where only sizes differ, and nobody waits; what these gave is wrong.
std::vector<Apart> quiet_mismatches(const Picture& picture);
// By communicator: the most collectives that the program of any rank has called. Only where NCCL
// tells of each call.
std::map<std::string, std::uint64_t> most_called(const Picture& picture);
std::vector<Incomplete> incomplete_communicators(const Picture& picture);

}  // namespace nnd::report
