#include "diagnosis/path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "diagnosis/verb_causes.h"

namespace nnd::diagnosis {

namespace {

constexpr int kStrict = 1;  // rp_filter

// As `ip neigh` has it.
std::string state_text(const std::string& state) {
  if (state == "none") return "no entry";
  std::string out = state;
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

}  // namespace

std::string path_text(const Path& path) {
  if (path.netdev.empty()) return {};
  if (path.error != 0)
    return fmt::format("no route to {} dev {}: errno {}", path.remote, path.netdev,
                       errno_text(path.error));
  if (path.neighbour.empty()) return {};
  const std::string state = state_text(path.neighbour);
  if (path.gateway.empty())
    return fmt::format("neighbour {} dev {}: {}", path.remote, path.netdev, state);
  return fmt::format("{} via {} dev {}, neighbour {}: {}", path.remote, path.gateway, path.netdev,
                     path.gateway, state);
}

// With arp_ignore=0 each interface answers for all addresses, and the peer takes what comes first;
// with a strict rp_filter all but one answer nobody. The peer is assumed to be set up as this node.
std::optional<Diagnosis> of_shared_subnet(const Path& path) {
  if (path.sharing.size() < 2) return std::nullopt;
  const bool strict = path.rp_filter == kStrict;
  // An address that nobody answers for is not answered for by the wrong interface.
  const bool flux = path.arp_ignore == 0 && path.neighbour != "failed";
  if (!strict && !flux) return std::nullopt;
  return by_evidence(
      Cause::kSubSame,
      fmt::format("{} are all in {}, with {} on {}", fmt::join(path.sharing, ", "), path.subnet,
                  strict ? "rp_filter=1" : "arp_ignore=0", path.netdev));
}

}  // namespace nnd::diagnosis
