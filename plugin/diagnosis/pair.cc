#include "diagnosis/pair.h"

#include <utility>

namespace nnd::diagnosis {

namespace {

Diagnosis of_ends(Cause cause, const std::string& subject, std::string what) {
  return {cause, subject + what + '.', remedy_of(cause), std::move(what)};
}

// What explains it, the surest first: each is a fault of this node that is known from here. Without
// one, two things are open, and which of them it is only both nodes together tell.
std::string apart_remedy(const UnlikeSubnets& seen) {
  if (seen.reach == Reachability::kRouted || seen.reach == Reachability::kOtherPrefix)
    return remedy_of(Cause::kSubRail);
  if (!seen.meant_local.empty())
    return "Correct the mask: " + seen.netdev + " should have " + seen.meant_local +
           ", as long as this node's other HCAs have it.";
  // No choice among rails helps an HCA that no rail has.
  if (seen.odd != nullptr)
    return "Leave " + seen.here.device() + " out on every node, it is not like its siblings (" +
           std::string(nccl_net_diag::cause_id(seen.odd->cause)) + "): " + seen.odd->remedy;
  if (seen.rail_short != nullptr) return seen.rail_short->sentence + ' ' + seen.rail_short->remedy;
  const std::string local = seen.netdev + " (" + seen.local + ")";
  if (seen.beside.empty())
    return "Compare " + local + " with the interface of the HCA of the same name on the peer (" +
           seen.remote +
           "), by `nccl-net-diag ping` or `ip address`: where the two should be one subnet, "
           "correct "
           "the address or the mask that is not like the other rails'; where they are meant to "
           "differ, add a route. NCCL_CROSS_NIC=0 helps only where each rail of this node has its "
           "like on the peer.";
  return "The peer used another rail than this node. `nccl-net-diag check` on both says whether "
         "one "
         "is a rail short (a port that is down, a slow link or slot): leave that HCA out on every "
         "node with NCCL_IB_HCA. Else they number their HCAs differently, and NCCL pairs by "
         "number, "
         "in whatever order NCCL_IB_HCA has them: cable both alike, or name with NCCL_IB_HCA on "
         "each "
         "the HCA of one rail alone. Where they are alike, use the same number of GPUs on each, "
         "and "
         "NCCL_CROSS_NIC=0.";
}

// Both are HCAs of this node: where one is a bond, the other is what a rail looks like.
Diagnosis within_node(Diagnosis out, const UnlikeSubnets& seen) {
  const UnlikeSubnets::End& bond = seen.here.bond.empty() ? seen.peer : seen.here;
  if (seen.odd != nullptr)
    out.remedy = apart_remedy(seen);
  else if (seen.here.bond.empty() != seen.peer.bond.empty())
    out.remedy = "Leave the bond out on every node (NCCL_IB_HCA=^=" + bond.device() +
                 "), or route between the two subnets.";
  else if (!seen.turned_off.empty())
    out.remedy =
        "Unset " + seen.turned_off.front() +
        (seen.turned_off.size() > 1 ? " and " + seen.turned_off.back() : "") +
        ": GPUs of one node then talk by shared memory or P2P. Else keep NCCL to HCAs that "
        "reach each other (NCCL_IB_HCA), or route between their subnets.";
  else
    out.remedy = remedy_of(Cause::kSubIntra);
  return out;
}

Diagnosis unreachable(const UnlikeSubnets& seen, const std::string& subject, std::string what) {
  if (!seen.beside.empty()) what += ", and the peer is in the subnet of " + seen.beside;
  if (!seen.meant_local.empty()) what += "; as long as the others' it would be " + seen.meant_local;
  if (!seen.peer.place.empty())
    return within_node(of_ends(Cause::kSubIntra, subject, std::move(what)), seen);
  const bool cables = seen.cables && seen.odd == nullptr && seen.rail_short == nullptr;
  Diagnosis out = of_ends(cables ? Cause::kSubDirect : Cause::kSubRail, subject, std::move(what));
  if (!cables) out.remedy = apart_remedy(seen);
  return out;
}

}  // namespace

Diagnosis diagnose(const UnlikeLinkLayers& seen) {
  return {Cause::kDevMixLl,
          seen.place + " is " + link_layer_text(seen.layers.local) + ", the peer's port is " +
              link_layer_text(seen.layers.peer) + '.',
          remedy_of(Cause::kDevMixLl), seen.layers.text()};
}

std::string UnlikeSubnets::End::device() const { return place.substr(0, place.rfind(':')); }

std::string UnlikeSubnets::End::text() const {
  if (bond.empty()) return place;
  std::string out = place + " (" + bond;
  for (std::size_t i = 0; i < slaves.size(); ++i) out += (i == 0 ? " over " : ", ") + slaves[i];
  return out + ')';
}

Diagnosis diagnose(const UnlikeSubnets& seen) {
  const bool own = !seen.peer.place.empty();
  const std::string subject =
      "local " + (own ? seen.here.text() : seen.here.place) + ' ' + seen.local + ", remote " +
      (own ? "this node's own " + seen.peer.text() + ' ' : "") + seen.remote +
      (own && !seen.peer_subnet.empty() ? " in " + seen.peer_subnet : "") + ": ";
  if (seen.local_forbidden)
    return of_ends(Cause::kSubIntra, subject, "the policy wants no pair within a node");
  switch (seen.reach) {
    case Reachability::kDifferentFamily:
      return of_ends(Cause::kGidDiff, subject,
                     "the address families differ, one end picked another kind of GID");
    case Reachability::kRouted:
      return unreachable(seen, subject, "another subnet, and the policy asks for the same");
    case Reachability::kOtherPrefix:
      return unreachable(seen, subject,
                         "another InfiniBand subnet prefix, and the policy asks for the same");
    default:
      return unreachable(seen, subject, "another subnet, and no route leaves by " + seen.netdev);
  }
}

Diagnosis diagnose(const NoFlid& seen) {
  const std::string what = "local " + seen.place + " is in " + seen.local + ", remote " +
                           seen.remote + " in another InfiniBand subnet, and it has no FLID";
  return {Cause::kIbFlid, what + ": NCCL addresses it by its plain LID, which no router forwards.",
          remedy_of(Cause::kIbFlid), what};
}

Diagnosis diagnose(const OtherTrafficClass& seen) {
  const std::string what = seen.place + " sends to " + seen.remote + " in traffic class " +
                           std::to_string(seen.asked) + ", and the policy asks for " +
                           std::to_string(seen.wanted);
  return {Cause::kRoceTc, what + '.',
          "Set NCCL_IB_TC=" + std::to_string(seen.wanted) + " on every node.", what};
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
