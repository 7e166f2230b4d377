// Whose each connection is and what was called: as our log tells it, and as NCCL's own lines do.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "job/fabric.h"

namespace nnd::test {

// A connection, as its own end sees it.
struct Way {
  bool sends;
  int rank, peer, channel;
  auto operator<=>(const Way&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Way& way);
using Ways = std::multiset<Way>;

// "Ring 00 : 1 -> 2 -> 3", for each communicator in the order in which NCCL began with it.
std::vector<Ways> rings_of_nccl(const softcuda::RankResult& rank);
// "Channel 00/1 : 1[0] -> 2[0] [send] via NET/IB/0", those of send and receive.
std::set<Way> transfers_of_nccl(const softcuda::RankResult& rank);

// What the events of one name say of whose a connection is, by communicator.
std::map<std::string, Ways> labelled(const FabricJob& job, int rank, const std::string& name,
                                     const std::string& purpose);

// The communicators' hashes in the order in which they were made: they are destroyed in reverse.
std::vector<std::string> hashes(const FabricJob& job, int rank);

// What the profiler's comm.init says of a rank's communicators: {rank, nranks} by hash. Before v4
// it doesn't know nranks: -1.
std::map<std::string, std::pair<int, int>> members(const FabricJob& job, int rank);

using Count = std::pair<std::uint64_t, std::uint64_t>;  // calls, bytes
// By communicator and kind; list: "called" or "ran". Catch2 assertions.
std::map<std::string, std::map<std::string, Count>> counts(const FabricJob& job, int rank,
                                                           const std::string& list);

}  // namespace nnd::test
