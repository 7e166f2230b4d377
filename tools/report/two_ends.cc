#include "report/two_ends.h"

#include <map>
#include <utility>

#include "report/ends.h"
#include "report/waits.h"

namespace nnd::report {

namespace {

// One line tells of all connections that wait alike: whether these are all that lead there.
bool is_of_all(const Picture& picture, const Wait& wait, log::Direction dir) {
  if (wait.stall->peers != 1) return false;
  std::uint64_t all = 0;
  for (const auto& [number, one] : picture.members[wait.member].log->connections)
    if (one.dir == dir && one.ready_ns != 0 && !one.closed)
      all += picture.peer_of(wait.member, one.peer, number, one.link) == wait.peer ? 1U : 0U;
  return all != 0 && all <= wait.stall->conns;
}

bool is_same_link(const Wait& one, const Wait& other) {
  return one.stall->link == other.stall->link && !one.stall->link.proc.empty();
}

// It still waited when the other one had done so for long: a process that was stopped tells of
// nothing, and what reaches it is not seen.
bool outlasts(const Picture& picture, const Wait& one, const Wait& other) {
  constexpr Ns kLong = 500'000'000;
  return picture.at(one.member, one.stall->told.mono_ns) >=
         other.since + kLong + apart(picture, one.member, other.member);
}

// They speak of one connection.
bool is_of_one(const Picture& picture, const Wait& receiver, const Wait& sender) {
  return is_same_link(receiver, sender) || is_of_all(picture, receiver, log::Direction::kRecv) ||
         is_of_all(picture, sender, log::Direction::kSend);
}

}  // namespace

void find_lost(const Picture& picture, std::vector<Wait>& waits) {
  std::multimap<std::pair<std::size_t, std::size_t>, Wait*> senders;  // by who, and towards whom
  // A group of receives on one connection is filled by several ranks (PXN): who has sent its part
  // waits for the others.
  for (Wait& wait : waits)
    if (wait.peer && wait.stall->kind == "no-receive" && wait.stall->in_flight == 0)
      senders.emplace(std::pair(wait.member, *wait.peer), &wait);
  for (Wait& receiver : waits) {
    if (!receiver.peer || receiver.stall->kind != "nothing-came") continue;
    const auto [first, last] = senders.equal_range({*receiver.peer, receiver.member});
    for (auto at = first; at != last; ++at)
      if (is_of_one(picture, receiver, *at->second) && outlasts(picture, receiver, *at->second) &&
          outlasts(picture, *at->second, receiver))
        receiver.lost = at->second->lost = true;
  }
}

}  // namespace nnd::report
