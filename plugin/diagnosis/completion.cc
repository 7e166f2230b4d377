#include "diagnosis/completion.h"

#include <cstdio>

#include "diagnosis/verb_causes.h"

namespace nnd::diagnosis {

namespace {

constexpr int kFlushed = 5;
constexpr int kRetriesExceeded = 12;

std::string what_failed(const FailedCompletion& seen) {
  std::string out =
      seen.place + (seen.local.empty() ? "" : " " + seen.local) + ": QP " + std::to_string(seen.qp);
  if (!seen.remote.empty()) out += " towards " + seen.remote;
  char hex[16];
  (void)std::snprintf(hex, sizeof hex, " (0x%x)", seen.vendor_error);
  out += " failed with status " + std::to_string(seen.status) + " " +
         std::string(seen.status_name) + ", vendor error " + std::to_string(seen.vendor_error) +
         hex;
  if (seen.age_us < 0) return out + "; no work request ever completed on it";
  return out + "; it had worked: " + std::to_string(seen.completed) +
         " work requests completed, the last " + std::to_string(seen.age_us / 1000) + " ms ago";
}

}  // namespace

bool is_flush(Cause cause) noexcept { return cause == Cause::kWc5; }

bool explains(Cause broken, const FailedCompletion& seen) noexcept {
  const bool no_path = seen.status == kRetriesExceeded && seen.age_us < 0;
  switch (broken) {
    case Cause::kSubRail:
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
  Diagnosis out = by_default(status_cause(seen.status), failed + '.');
  if (seen.status == kRetriesExceeded && seen.age_us < 0)
    out.remedy =
        "No work request ever completed on this QP: the path never existed. Compare GID, subnet, "
        "VLAN, MTU, traffic class and partition key of both ends, and test it with nccl-net-diag "
        "ping or ib_write_bw.";
  return out;
}

}  // namespace nnd::diagnosis
