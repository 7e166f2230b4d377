#include "diagnosis/completion.h"

#include <fmt/format.h>

#include <optional>

#include "diagnosis/own_end.h"
#include "diagnosis/units.h"
#include "diagnosis/verb_causes.h"

namespace nnd::diagnosis {

namespace {

constexpr int kLocalProtection = 4;
constexpr int kFlushed = 5;
constexpr int kLocalAccess = 8;
constexpr int kRetriesExceeded = 12;
constexpr int kOwnRequest = 2;
constexpr int kNoReason = 21;
constexpr double kShortBudgetSec = 8;  // as the environment's lint has it

std::string what_failed(const FailedCompletion& seen) {
  std::string out =
      seen.place + (seen.local.empty() ? "" : " " + seen.local) + ": QP " + std::to_string(seen.qp);
  if (!seen.remote.empty()) out += " towards " + seen.remote;
  out += fmt::format(" failed with status {} {}, vendor error {} ({:#x})", seen.status,
                     seen.status_name, seen.vendor_error, seen.vendor_error);
  if (seen.age_us < 0)
    out += "; no work request ever completed on it";
  else
    out += fmt::format("; it had worked: {} work requests completed, the last {} ms ago",
                       seen.completed, seen.age_us / 1000);
  if (seen.conn_bytes != 0)
    out += fmt::format(", and its connection moved {} in {}", bytes_text(seen.conn_bytes),
                       span_text(seen.conn_sec));
  return out;
}

// Something that happened within the time for which the HCA tries.
bool just_now(const FailedCompletion& seen, double ago_sec) {
  constexpr double kMarginSec = 1;
  return ago_sec >= 0 && ago_sec <= seen.budget_sec + kMarginSec;
}

bool never_worked(const FailedCompletion& seen) { return seen.age_us < 0; }

// A flush without an error before it is how some drivers end a QP whose address went.
bool about_address(int status) {
  return status == kOwnRequest || status == kFlushed || status == 9 || status == 10 ||
         status == kRetriesExceeded;
}

// How requests fail where the link is gone: by driver and kernel the HCA gives up on the peer, on
// its own request, or ends the QP without an error.
bool about_port(int status) {
  return status == kOwnRequest || status == kFlushed || status == kRetriesExceeded ||
         status == kNoReason;
}

// What happened here, and makes requests fail like this; none: nothing is known.
std::optional<Diagnosis> of_surroundings(const FailedCompletion& seen) {
  if (!seen.translating.empty() && (seen.status == kLocalProtection || seen.status == kLocalAccess))
    return by_evidence(Cause::kGdrAcs,
                       "the HCA was given GPU memory, and its IOMMU group is of the type " +
                           seen.translating + ", which translates");
  // A port that goes down may take its addresses with it.
  if (about_port(seen.status) && seen.port_down) return port_down(seen.down_ago_sec);
  if (about_address(seen.status)) {
    if (seen.gid_gone) return gid_gone();
    // QPs may keep the entry that went, though the same address is there again.
    if (just_now(seen, seen.gid_went_ago_sec))
      return by_evidence(Cause::kGidChange, "the address that it sends from left the GID table " +
                                                span_text(seen.gid_went_ago_sec) +
                                                " before, and is there again");
  }
  if (about_port(seen.status) && just_now(seen, seen.down_ago_sec))
    return by_evidence(Cause::kAsyncPort,
                       "the port went down " + span_text(seen.down_ago_sec) + " before");
  return seen.status == kRetriesExceeded && never_worked(seen) &&
                 seen.peer != FailedCompletion::Peer::kEnded
             ? of_shared_subnet(seen.path)
             : std::nullopt;
}

// Status 12 on a path that is there, as far as this end knows.
void tell_peer(const FailedCompletion& seen, Diagnosis& out) {
  if (never_worked(seen) && seen.peer != FailedCompletion::Peer::kEnded) {
    out.remedy =
        "No work request ever completed on this QP: the path never existed. Compare GID, subnet, "
        "VLAN, MTU, traffic class and partition key of both ends, and test it with nccl-net-diag "
        "ping or ib_write_bw.";
    return;
  }
  if (seen.peer == FailedCompletion::Peer::kEnded) {
    out.evidence = "the peer's process has ended, its TCP connection is closed";
    out.remedy =
        "The peer's process ended before this failure, which follows from it: look at that rank's "
        "own output and log, and in its node's dmesg (out of memory, a GPU's Xid).";
  } else if (seen.peer == FailedCompletion::Peer::kThere) {
    out.evidence = "the TCP connection to the peer's process is there";
  }
  if (seen.budget_sec > 0 && seen.budget_sec < kShortBudgetSec &&
      seen.peer != FailedCompletion::Peer::kEnded)
    out.remedy = fmt::format(
        "The HCA gave up after {}, which a short flap outlasts: NCCL_IB_TIMEOUT=20 and "
        "NCCL_IB_RETRY_CNT=7 give 30 s. {}",
        span_text(seen.budget_sec), out.remedy);
}

std::string first_of_all(const FailedCompletion& seen) {
  return fmt::format("the first failure of this process is number {}, {}", seen.first_failure,
                     nccl_net_diag::cause_id(seen.first_cause));
}

}  // namespace

bool is_flush(Cause cause) noexcept { return cause == Cause::kWc5; }

bool may_be_port(Cause cause) noexcept {
  return cause == status_cause(kOwnRequest) || cause == status_cause(kFlushed) ||
         cause == status_cause(kRetriesExceeded) || cause == status_cause(kNoReason);
}

bool explains(Cause broken, const FailedCompletion& seen) noexcept {
  const bool no_path = seen.status == kRetriesExceeded && seen.age_us < 0;
  switch (broken) {
    case Cause::kSubRail:
    case Cause::kSubDirect:
    case Cause::kSubIntra:
    case Cause::kGidDiff:
    case Cause::kDevMixLl:
      return no_path;
    case Cause::kMtuDiff:
      return seen.status == 1 || seen.status == 2 || seen.status == 9;
    default:
      return false;
  }
}

Diagnosis diagnose(const FailedCompletion& seen, const Diagnosis* earlier) {
  const std::string failed = what_failed(seen);
  if (earlier != nullptr && (seen.status == kFlushed || explains(earlier->cause, seen))) {
    const std::string& because = earlier->evidence;
    return {earlier->cause, failed + (because.empty() ? "" : "; " + because) + '.', earlier->remedy,
            because};
  }
  Diagnosis out = of_surroundings(seen).value_or(by_default(status_cause(seen.status), {}));
  if (out.cause == Cause::kWc12) tell_peer(seen, out);
  if (const std::string path = path_text(seen.path); !path.empty())
    out.evidence += (out.evidence.empty() ? "" : "; ") + path;
  if (seen.status == kFlushed && seen.first_failure != 0) out.evidence = first_of_all(seen);
  out.sentence = failed + (out.evidence.empty() ? "" : "; " + out.evidence) + '.';
  return out;
}

}  // namespace nnd::diagnosis
