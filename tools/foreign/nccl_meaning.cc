#include "foreign/nccl_meaning.h"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <string>

#include "foreign/words.h"

namespace nnd::foreign {

using nccl_net_diag::Cause;
using nccl_net_diag::find_cause;

namespace {

Cause by_number(const char* family, std::optional<int> number, Cause other) {
  return number ? find_cause(fmt::format("{}-{}", family, *number)).value_or(other) : other;
}

bool is_link_local(const std::string& gid) { return gid.starts_with("fe80:"); }
bool is_ipv4(const std::string& gid) { return gid.starts_with("::ffff:"); }

// What the two GIDs alone show of a QP that could not be moved. Only RoCE has addresses of IPv4,
// and only there is a peer's address looked for; on InfiniBand fe80: is as good as any.
std::optional<Cause> cause_of_gids(const Fact& fact) {
  if (fact.local == "::") return Cause::kGidWrong;
  if (fact.local.empty() || fact.remote.empty() || fact.remote == "::") return {};
  if (is_ipv4(fact.local) != is_ipv4(fact.remote)) return Cause::kGidDiff;
  const bool looked_for =
      fact.error == ETIMEDOUT || fact.error == ENETUNREACH || fact.error == EHOSTUNREACH;
  return looked_for && is_link_local(fact.local) && is_link_local(fact.remote)
             ? std::optional(Cause::kGidLinkLocal)
             : std::nullopt;
}

void judge_move(Fact& fact) {
  fact.what = What::kFailure;
  fact.cause = by_number("QP", fact.error, Cause::kQpErrno);
  if (fact.error == ENOMEM) return;
  if (const auto cause = cause_of_gids(fact)) {
    fact.cause = cause;
    fact.sure = Sure::kFollows;
  }
}

void judge_creation(Fact& fact, const char* family, Cause other) {
  fact.what = What::kFailure;
  fact.cause = by_number(family, fact.error, other);
}

void say_as_printed(Fact& fact, Cause cause) {
  fact.what = What::kFailure;
  fact.cause = cause;
  fact.detail = fact.text;
}

}  // namespace

bool leads_to_no_other_host(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("172.17.") ||
         address.starts_with("169.254.") || address.starts_with("fe80");
}

void judge(Fact& fact, Says says, std::string_view text) {
  constexpr int kFlushed = 5;
  switch (says) {
    case Says::kRank:
      fact.what = What::kRank;
      break;
    case Says::kHcaPath:
      fact.what = What::kHcaPath;
      fact.pci = fact.text.substr(fact.text.rfind('/') + 1);
      break;
    case Says::kNetwork:
      fact.what = What::kTransport;
      break;
    case Says::kNoDevice:
      fact.what = What::kNoHca;
      break;
    case Says::kMoveFailed:
      judge_move(fact);
      break;
    case Says::kCompletion:
      fact.what = fact.status == kFlushed ? What::kEcho : What::kFailure;
      fact.cause = by_number("WC", fact.status, Cause::kWcStatus);
      break;
    case Says::kRegistration:
      judge_creation(fact, "MR", Cause::kMrErrno);
      if (holds(text, "dmabuf")) fact.cause = Cause::kGdrRegFail;
      break;
    case Says::kNoQp:
      judge_creation(fact, "QP", Cause::kQpErrno);
      if (fact.error != ENOMEM) break;  // QP-12 is of one that exists
      fact.cause = Cause::kLimMemlock;
      fact.sure = Sure::kFollows;
      break;
    case Says::kNoCq:
      judge_creation(fact, "CQ", Cause::kCqErrno);
      break;
    case Says::kNoGid:
      fact.what = What::kFailure;
      fact.cause = Cause::kGidCont;
      break;
    case Says::kCantOpen:
      fact.what = What::kSign;
      fact.cause = Cause::kDevUnusable;
      break;
    case Says::kDeviceEvent:
      fact.what = What::kSign;
      if (holds(text, "port error")) fact.cause = Cause::kAsyncPort;
      if (holds(text, "catastrophic")) fact.cause = Cause::kAsyncFatal;
      if (holds(text, "GID table")) fact.cause = Cause::kGidChange;
      break;
    case Says::kFatalEvent:
      fact.what = What::kSign;
      fact.cause = Cause::kAsyncFatal;
      break;
    case Says::kGidTable:
      fact.what = What::kSign;
      fact.cause = Cause::kGidChange;
      break;
    case Says::kConnect:
      fact.what = What::kFailure;
      fact.cause = leads_to_no_other_host(fact.peer) ? Cause::kDevOob : Cause::kOobBlocked;
      fact.sure = Sure::kFollows;
      break;
    case Says::kNoAddress:
      fact.by_stranger = true;
      fact.detail =
          "the address that a peer gave is none: it runs another release of NCCL, or its "
          "NCCL_SOCKET_IFNAME names no interface there";
      break;
    case Says::kAccept:
      if (fact.error != EMFILE && fact.error != ENFILE) break;
      fact.what = What::kFailure;
      fact.cause = Cause::kLimNoFile;
      break;
    case Says::kNoInterface:
      say_as_printed(fact, Cause::kDevOob);
      break;
    case Says::kTruncated:
      fact.by_stranger = true;
      // It was the release itself where its cause was found (NCCL's issues 1176, 1273).
      fact.detail =
          "ranks are at different steps of NCCL's bootstrap: one runs another release or has other "
          "settings, or it is a fault of this release";
      break;
    case Says::kVersions:
      fact.what = What::kFailure;
      fact.cause = Cause::kIncVersion;
      break;
    case Says::kLinkLayers:
      fact.what = What::kFailure;
      fact.cause = Cause::kDevMixLl;
      break;
    case Says::kRankClash:
      say_as_printed(fact, Cause::kIncRanks);
      break;
    case Says::kOneGpu:
      say_as_printed(fact, Cause::kDupGpu);
      break;
    case Says::kSharedMemory:
      if (holds(text, "attaching to")) {
        say_as_printed(fact, Cause::kIncShm);
        fact.sure = Sure::kFollows;
        break;
      }
      // Releases before 2.23 tell no errno.
      if (fact.error.value_or(ENOSPC) != ENOSPC || !holds(text, "creating")) break;
      say_as_printed(fact, Cause::kLimShm);
      if (!fact.error) fact.sure = Sure::kFollows;
      break;
    case Says::kNvls:
      say_as_printed(fact, Cause::kGpuNvls);
      break;
    case Says::kSuspected:
      fact.detail = "a collective takes so long that NCCL suspects another one in some rank";
      break;
    case Says::kMismatched:
      say_as_printed(fact, Cause::kIncColl);
      // A check of the kernels' of old, which a failed transfer defeats too.
      if (text.starts_with("Mismatched collective detected")) fact.sure = Sure::kFollows;
      break;
    case Says::kCuda:
      // A process that ends takes its context away while NCCL's threads still run.
      if (holds(text, "driver shutting down") || holds(text, "context is destroyed")) break;
      say_as_printed(fact, fact.place.find("nvls.cc") == std::string::npos ? Cause::kCudaFail
                                                                           : Cause::kGpuNvls);
      break;
    case Says::kAborted:
      fact.what = What::kAborted;
      break;
    case Says::kClosed:
    case Says::kHcas:
    case Says::kInterfaces:
    case Says::kNvlsLess:
      break;
  }
}

}  // namespace nnd::foreign
