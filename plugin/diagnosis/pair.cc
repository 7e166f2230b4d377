#include "diagnosis/pair.h"

#include <utility>

namespace nnd::diagnosis {

namespace {

Diagnosis of_ends(Cause cause, const std::string& subject, std::string what) {
  return {cause, subject + what + '.', remedy_of(cause), std::move(what)};
}

// No choice among rails helps an HCA that no rail has.
Diagnosis without_odd(Diagnosis out, const Ends& seen) {
  if (seen.odd != nullptr)
    out.remedy = "Leave " + seen.place.substr(0, seen.place.rfind(':')) +
                 " out on every node, it is not like its siblings (" +
                 std::string(nccl_net_diag::cause_id(seen.odd->cause)) + "): " + seen.odd->remedy;
  return out;
}

}  // namespace

Diagnosis diagnose(const UnlikeLinkLayers& seen) {
  return {Cause::kDevMixLl,
          seen.place + " is " + link_layer_text(seen.layers.local) + ", the peer's port is " +
              link_layer_text(seen.layers.peer) + '.',
          remedy_of(Cause::kDevMixLl), seen.layers.text()};
}

Diagnosis diagnose(const Ends& seen) {
  const std::string subject =
      "local " + seen.place + ' ' + seen.local + ", remote " + seen.remote + ": ";
  switch (seen.reach) {
    case Reach::kDifferentFamily:
      return of_ends(Cause::kGidDiff, subject,
                     "the address families differ, one end picked another kind of GID");
    case Reach::kLocal:
      return of_ends(Cause::kSubIntra, subject, "the peer's GID is one of this node's own");
    case Reach::kRouted:
      return without_odd(
          of_ends(Cause::kSubRail, subject, "another subnet, and the policy asks for the same"),
          seen);
    default:
      return without_odd(of_ends(Cause::kSubRail, subject,
                                 "another subnet, and no route leaves by " + seen.netdev),
                         seen);
  }
}

Diagnosis diagnose(const UnlikeRoceVersions& seen) {
  const std::string what = seen.place + " uses " + seen.local + ", the peer " + seen.peer;
  return {Cause::kGidDiff, what + '.',
          "Leave NCCL_IB_GID_INDEX unset, and set NCCL_IB_ROCE_VERSION_NUM alike.", what};
}

Diagnosis diagnose(const UnlikeRails& seen) {
  const std::string what = seen.place + " is on rail " + std::to_string(seen.local) +
                           ", the peer on rail " + std::to_string(seen.peer);
  return {Cause::kSubRail, what + '.', remedy_of(Cause::kSubRail), what};
}

Diagnosis diagnose(const UnlikeMtu& seen) {
  const bool larger = seen.path > seen.port;
  const std::string what = seen.place + " has an MTU of " + std::to_string(seen.port) +
                           ", this connection of " + std::to_string(seen.path);
  return {Cause::kMtuDiff,
          what + ": the port of this peer" +
              (larger ? "" : ", or of one that NCCL met before it,") + " has a " +
              (larger ? "larger" : "smaller") + " one.",
          remedy_of(Cause::kMtuDiff), what};
}

}  // namespace nnd::diagnosis
