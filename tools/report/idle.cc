#include "report/idle.h"

#include <algorithm>

namespace nnd::report {

std::optional<Ns> idle_by_box(const Picture& picture, std::size_t member) {
  const Member& one = picture.members[member];
  if (one.box == nullptr || one.log->summary || one.box->conns.empty()) return std::nullopt;
  // A wait for a receive of the peer's is in the log alone.
  if (one.log->cut_off) return std::nullopt;
  for (const auto& slot : one.box->conns)
    if (slot.started > slot.completed + slot.failed) return std::nullopt;
  if (one.box->asked_ns == 0) return std::nullopt;
  const Ns since = picture.at(member, one.box->asked_ns);
  if (since + kLivedOn > one.last) return std::nullopt;
  return since;
}

std::optional<std::size_t> behind_its_neighbours(const Picture& picture,
                                                 const std::vector<std::size_t>& members) {
  constexpr std::uint64_t kMargin = 1'000'000;  // within a collective they are less far apart
  const auto box = [&](std::size_t member) { return picture.members[member].box; };
  if (members.size() < 2 ||
      std::any_of(members.begin(), members.end(), [&](std::size_t one) { return !box(one); }))
    return std::nullopt;
  const auto last = std::min_element(members.begin(), members.end(), [&](auto one, auto other) {
    return box(one)->posted_ns < box(other)->posted_ns;
  });
  const bool all_further = std::all_of(members.begin(), members.end(), [&](std::size_t other) {
    return other == *last || box(other)->posted_receive_ns > box(*last)->posted_ns + kMargin;
  });
  return all_further && box(*last)->posted_ns != 0 ? std::optional(*last) : std::nullopt;
}

}  // namespace nnd::report
