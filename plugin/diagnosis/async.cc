#include "diagnosis/async.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace nnd::diagnosis {

namespace {

constexpr std::size_t kNamed = 3;  // peers

// "4 connections use it (towards 10.0.1.9, 10.0.1.10 and 2 more)"
std::string users(const DeviceReport& seen) {
  if (seen.connections == 0) return {};
  std::string out = fmt::format(
      "; {} use{} it",
      seen.connections == 1 ? "1 connection" : fmt::format("{} connections", seen.connections),
      seen.connections == 1 ? "s" : "");
  if (seen.peers.empty()) return out;
  const std::size_t named = std::min(seen.peers.size(), kNamed);
  const std::vector<std::string> first(seen.peers.begin(),
                                       seen.peers.begin() + static_cast<std::ptrdiff_t>(named));
  out += fmt::format(" (towards {}", fmt::join(first, ", "));
  if (named < seen.peers.size()) out += fmt::format(" and {} more", seen.peers.size() - named);
  return out + ")";
}

std::string what_changed(const DeviceReport& seen) {
  const std::string changed = "The GID table of " + seen.place + " changed";
  if (!seen.gone.empty())
    return fmt::format("{}: {} {} not there any more, and QPs that were made with {} will fail{}.",
                       changed, fmt::join(seen.gone, ", "), seen.gone.size() == 1 ? "is" : "are",
                       seen.gone.size() == 1 ? "it" : "them", users(seen));
  if (seen.connections != 0)
    return changed + "; the GIDs in use are where they were" + users(seen) + ".";
  return changed + "; no connection uses it.";
}

}  // namespace

bool harms(const DeviceReport& seen) noexcept {
  return seen.kind != DeviceReport::Kind::kGidChange || !seen.gone.empty();
}

Diagnosis diagnose(const DeviceReport& seen) {
  switch (seen.kind) {
    case DeviceReport::Kind::kPortDown:
      return by_default(
          Cause::kAsyncPort,
          seen.place + " went down" +
              (seen.times > 1 ? fmt::format(", for the {}. time in this process", seen.times)
                              : "") +
              users(seen) + ".");
    case DeviceReport::Kind::kGidChange:
      return by_default(Cause::kGidChange, what_changed(seen));
    case DeviceReport::Kind::kFatal:
      break;
  }
  return by_default(Cause::kAsyncFatal, seen.place + " reported " + seen.words + users(seen) + ".");
}

}  // namespace nnd::diagnosis
