#include "peers/claim.h"

#include <tuple>

#include "nccl_net_diag/causes.h"

namespace nnd::peers {

bool same_root(const Claim& a, const Claim& b) noexcept {
  return a.kind == b.kind && a.who.proc == b.who.proc && a.other.proc == b.other.proc &&
         a.cause == b.cause;
}

namespace {

using nccl_net_diag::Reach;

Reach reach_of(const Claim& failed) noexcept {
  // An attribute that doesn't fit comes from either end.
  if (failed.cause == static_cast<unsigned>(nccl_net_diag::Cause::kQp22) + 1) return Reach::kPair;
  const bool known = failed.cause != 0 && failed.cause <= nccl_net_diag::kCauses.size();
  return known ? nccl_net_diag::kCauses[failed.cause - 1u].reach : Reach::kOpen;
}

// How certain it is that nothing else explains it. A failure that only tells of another one, or of
// a peer, follows from a peer's end where there is one.
int weight(const Claim& claim) noexcept {
  switch (claim.kind) {
    case Kind::kNone:
    case Kind::kCount:
    case Kind::kRests:
      return 0;
    case Kind::kCycle:
      return 1;
    case Kind::kMeets:
      return 2;
    case Kind::kIdle:
      return 3;
    case Kind::kStopped:
      return 6;
    case Kind::kPair:
      return 7;
    case Kind::kGone:
      return 8;
    case Kind::kEnded:
      return 9;
    case Kind::kPort:
      return 10;  // of which processes end; and what fails between two that live before it
    case Kind::kFailed:
      break;
  }
  const Reach reach = reach_of(claim);
  if (reach == Reach::kEcho || reach == Reach::kOpen) return 4;
  if (reach == Reach::kPair || reach == Reach::kPeer) return claim.other.known() ? 11 : 5;
  return 12;
}

// Of two that are alike what is older came first, where their clocks can tell.
constexpr std::uint32_t kSameMs = 1500;

}  // namespace

bool is_late(Kind kind) noexcept { return kind == Kind::kIdle || kind == Kind::kMeets; }

bool is_of_one_end(const Claim& failed) noexcept {
  const Reach reach = reach_of(failed);
  return reach == Reach::kLocal || reach == Reach::kNode;
}

bool is_hint(const Claim& claim) noexcept {
  return claim.kind == Kind::kRests ||
         (claim.kind == Kind::kFailed && reach_of(claim) == Reach::kEcho);
}

bool goes_before(const Claim& a, const Claim& b) noexcept {
  if (weight(a) != weight(b)) return weight(a) > weight(b);
  // Of two that are late the one that was given less is behind.
  const bool by_doing = is_late(a.kind);
  if (by_doing && a.doing.behind(b.doing)) return true;
  if (by_doing && b.doing.behind(a.doing)) return false;
  if (!by_doing && (a.age_ms > b.age_ms ? a.age_ms - b.age_ms : b.age_ms - a.age_ms) > kSameMs)
    return a.age_ms > b.age_ms;
  return std::tie(a.who.proc, a.other.proc) < std::tie(b.who.proc, b.other.proc);
}

}  // namespace nnd::peers
