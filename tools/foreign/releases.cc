#include "foreign/releases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace nnd::foreign {

// NCCL names the newest net API that it knows, where a plugin lacks it: v5 in 2.12, v6 in 2.13 to
// 2.18, v7 in 2.19, v8 in 2.20 to 2.23 (src/net.cc). Newer ones go on with the older APIs.
std::optional<Fact> mixed_releases(const std::vector<Fact>& facts) {
  const bool met_a_stranger =
      std::any_of(facts.begin(), facts.end(), [](const Fact& fact) { return fact.by_stranger; });
  if (!met_a_stranger) return {};
  std::map<std::pair<std::string, std::int64_t>, const Fact*> newest;  // of each process
  for (const auto& fact : facts) {
    if (fact.what != What::kNetApi || fact.writer.host.empty()) continue;
    auto& one = newest[{fact.writer.host, fact.writer.pid}];
    if (one == nullptr || fact.status > one->status) one = &fact;
  }
  const auto by_api = [](const auto& a, const auto& b) {
    return a.second->status < b.second->status;
  };
  const auto [old, recent] = std::minmax_element(newest.begin(), newest.end(), by_api);
  if (newest.empty() || old->second->status == recent->second->status) return {};
  Fact out = *old->second;
  out.what = What::kFailure;
  out.cause = nccl_net_diag::Cause::kIncVersion;
  out.sure = Sure::kFollows;
  out.status.reset();
  out.detail = fmt::format("the NCCL of {} knows net plugins up to v{}, that of {} up to v{}",
                           old->first.first, *old->second->status, recent->first.first,
                           *recent->second->status);
  return out;
}

}  // namespace nnd::foreign
