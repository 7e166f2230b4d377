#include "diagnosis/queue_pair.h"

#include <cerrno>
#include <utility>

#include "diagnosis/catalogue.h"
#include "diagnosis/own_end.h"
#include "diagnosis/verb_causes.h"

namespace nnd::diagnosis {

namespace {

std::string what_failed(const FailedTransition& seen) {
  std::string out = seen.place + (seen.local.empty() ? "" : " " + seen.local) + ": QP " +
                    std::to_string(seen.qp) + " could not go from " + std::string(seen.from) +
                    " to " + std::string(seen.to);
  if (!seen.remote.empty()) out += " towards " + seen.remote;
  return out + ": errno " + errno_text(seen.error) + " after " +
         std::to_string(seen.dur_us / 1000) + " ms, attempt " + std::to_string(seen.attempt);
}

// By errno and state alone. Addresses play no part before and after RTR.
Diagnosis plain(const FailedTransition& seen) {
  const Cause cause = qp_cause(seen.error);
  if (seen.to == "RTR" || any_verb(cause)) return by_default(cause, {});
  return ask_the_driver(seen.error == EINVAL ? cause : Cause::kQpErrno, {});
}

// What is known of the two ends beyond the errno.
void judge_ends(const FailedTransition& seen, Diagnosis& out) {
  if (!about_reach(seen.error) && seen.error != EINVAL) return;
  if (seen.reach != Reachability::kUnknown) out.evidence = seen.why;
  if (seen.families_differ) out.evidence = "the two GIDs are of different address families";
  if (seen.families_differ || seen.reach == Reachability::kDifferentFamily) {
    out.cause = Cause::kGidDiff;
    out.remedy =
        "One node chose an IPv4 GID, the other an IPv6 or link-local one. Give every HCA an "
        "address of the same family, and unset NCCL_IB_GID_INDEX.";
    return;
  }
  if (!about_reach(seen.error)) return;
  if (seen.reach == Reachability::kNoRoute)
    out = {Cause::kSubRail, {}, remedy_of(Cause::kSubRail), seen.why};
  if (seen.reach == Reachability::kRouted) {
    out.cause = Cause::kSubRail;
    out.remedy =
        "The two ends are in different subnets and the route between them leads nowhere. Repair "
        "it, or keep NCCL on one rail: NCCL_CROSS_NIC=0, the same HCAs and the same number of GPUs "
        "on every node.";
  }
  if (seen.own) out = {Cause::kSubIntra, {}, remedy_of(Cause::kSubIntra), seen.why};
  if (seen.reach == Reachability::kSame && !seen.own)
    if (auto shared = of_shared_subnet(seen.path)) out = std::move(*shared);
  if (seen.reach == Reachability::kUnknown && seen.link_local)
    out.evidence = "the local GID is link-local, which reaches the own Ethernet segment only";
}

// A QP's number has 24 bits. NCCL sends a table of them, of which it fills in as many as it has
// QPs; the other end reads as many as it has itself.
bool is_no_qp(std::uint32_t number) { return number >> 24 != 0; }

Diagnosis of_no_qp(const FailedTransition& seen) {
  return {Cause::kIncQps,
          {},
          remedy_of(Cause::kIncQps),
          std::to_string(seen.remote_qp) +
              ", which the peer gave for this QP, is no QP's number: it has made fewer QPs for "
              "this connection than this end"};
}

Diagnosis of_no_pkey(const FailedTransition& seen) {
  return {Cause::kPkey,
          {},
          remedy_of(Cause::kPkey),
          "the partition key at index " + std::to_string(seen.empty_pkey) + " is empty"};
}

// What the kernel has for a way, or an address, that went with the link.
bool needs_port(int error) {
  return about_reach(error) || error == ENODEV || error == ENODATA || error == ENETDOWN;
}

}  // namespace

bool about_reach(int error) noexcept {
  return error == ETIMEDOUT || error == ENETUNREACH || error == EHOSTUNREACH;
}

bool explains(Cause broken, int error) noexcept {
  switch (broken) {
    case Cause::kDevMixLl:
      return true;
    case Cause::kSubRail:
    case Cause::kSubDirect:
    case Cause::kSubIntra:
      return about_reach(error);
    case Cause::kGidDiff:
      return about_reach(error) || error == EINVAL || error == ENODEV;
    default:
      return false;
  }
}

std::string what_nccl_does(const Retries& retries) {
  if (retries.count <= 0) return "NCCL gives up now.";
  return "NCCL will try again " + std::to_string(retries.count) + " times" +
         (retries.usual ? ", which takes a minute or more" : "") +
         (retries.version_known ? "." : " (versions before 2.24 give up now).");
}

Diagnosis diagnose(const FailedTransition& seen, const Diagnosis* broken) {
  Diagnosis out;
  const bool to_rtr = seen.to == "RTR";
  if (to_rtr && broken != nullptr && explains(broken->cause, seen.error)) {
    out = {broken->cause, {}, broken->remedy, broken->evidence};
  } else if (to_rtr && seen.layers.differ()) {
    out = {Cause::kDevMixLl, {}, remedy_of(Cause::kDevMixLl), seen.layers.text()};
  } else if (to_rtr && seen.error == EINVAL && is_no_qp(seen.remote_qp)) {
    out = of_no_qp(seen);
  } else if (seen.empty_pkey >= 0 && seen.error == EINVAL) {
    out = of_no_pkey(seen);
  } else if (to_rtr && seen.port_down && needs_port(seen.error)) {
    out = port_down(seen.down_ago_sec);
  } else {
    out = plain(seen);
    if (to_rtr) judge_ends(seen, out);
  }
  const std::string path = path_text(seen.path);
  if (!path.empty()) out.evidence += (out.evidence.empty() ? "" : "; ") + path;
  out.sentence = what_failed(seen) + (out.evidence.empty() ? "" : "; " + out.evidence) + '.';
  return out;
}

}  // namespace nnd::diagnosis
