#include "report/missing.h"

#include <algorithm>

namespace nnd::report {

namespace {

// All of the job have met: in a communicator of as many ranks, or where there are connections and
// no smaller communicator is known in which these could be.
bool all_have_met(const Picture& picture, int expected) {
  bool connected = false, smaller = false;
  for (const auto& member : picture.members) {
    for (const auto& [comm, one] : member.log->communicators) {
      const int nranks = one.nranks.value_or(0);
      if (one.init_seq != 0 && nranks >= expected) return true;
      smaller = smaller || (nranks > 0 && nranks < expected);
    }
    connected = connected || !member.log->connections.empty();
  }
  return connected && !smaller;
}

}  // namespace

bool lacks_neighbours(const Picture& picture, const Missing& missing, std::size_t member) {
  const auto& beside = picture.host_of(member).members;
  if (std::any_of(beside.begin(), beside.end(), [&](std::size_t other) {
        return other != member && lacks_its_end(picture.members[other]);
      }))
    return true;
  const auto& of = picture.members[member].log->launch;
  if (!missing.any()) return false;
  if (!of.rank || !of.local_rank) return true;
  int size = 1;
  for (const auto& one : picture.members)
    size = std::max(size, one.log->launch.local_rank.value_or(0) + 1);
  const int first = *of.rank - *of.local_rank;
  return missing.unnamed > 0 ||
         std::any_of(missing.ranks.begin(), missing.ranks.end(),
                     [&](int rank) { return rank >= first && rank < first + size; });
}

Missing missing_of(const Picture& picture, std::optional<int> expected_ranks) {
  Missing out;
  out.asked = expected_ranks.has_value();
  out.expected = expected_ranks ? expected_ranks : picture.world_size;
  std::set<int> there;
  int nameless = 0;
  for (const auto& member : picture.members) {
    if (member.rank)
      there.insert(*member.rank);
    else
      ++nameless;
    if (const auto size = member.log->launch.world_size)
      out.counted[*size].insert(member.log->host);
  }
  if (out.expected) {
    const int missing = std::max(0, *out.expected - nameless - static_cast<int>(there.size()));
    constexpr int kMostNamed = 1 << 17;  // a log may say any number
    for (int rank = 0; rank < std::min(*out.expected, kMostNamed) && missing > 0 && nameless == 0;
         ++rank)
      if (!there.contains(rank)) out.ranks.insert(rank);
    out.unnamed = std::max(0, missing - static_cast<int>(out.ranks.size()));
    out.came = all_have_met(picture, *out.expected);
  }
  out.incomplete = incomplete_communicators(picture);
  const auto is_alone = [](const Member& member) { return member.log->connections.empty(); };
  const bool others_connect =
      std::count_if(picture.members.begin(), picture.members.end(), is_alone) * 2 <
      static_cast<std::ptrdiff_t>(picture.members.size());
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const Member& member = picture.members[i];
    if (!member.log->loaded) out.unloaded.push_back(i);
    if (others_connect && is_alone(member)) out.alone.push_back(i);
  }
  return out;
}

}  // namespace nnd::report
