// When it happened: CLOCK_MONOTONIC, as the events' mono_ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

namespace nnd::verdict {

struct Moments {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t effect_ns = kNever;                           // the fault was seen to be there
  std::optional<std::uint64_t> over_ns = std::nullopt;        // all were looked at, and are ended
  std::map<int, std::uint64_t> ended_ns = {}, asked_ns = {};  // by rank; asked: by its world

  std::uint64_t ended(int rank) const { return of(ended_ns, rank); }
  // How long a rank's log tells of the job, and not of its end.
  std::uint64_t until(int rank) const {
    return std::min({ended(rank), of(asked_ns, rank), over_ns.value_or(kNever)});
  }

 private:
  static std::uint64_t of(const std::map<int, std::uint64_t>& all, int rank) {
    const auto found = all.find(rank);
    return found == all.end() ? kNever : found->second;
  }
};

}  // namespace nnd::verdict
