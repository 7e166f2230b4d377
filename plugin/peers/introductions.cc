#include "peers/introductions.h"

namespace nnd::peers {

namespace {

constexpr std::uint64_t kPatienceMs = 1000;  // doubled each time
// To one that knows no such messages some are lost, and no more; answers are for those that ask.
constexpr unsigned kMostByItself = 5, kMostInAll = 12;

}  // namespace

bool Introductions::may_send(Introduced& peer, unsigned most, std::uint64_t now_ms) {
  if (peer.sent >= most || !out_.take(now_ms)) return false;
  ++peer.sent;
  peer.since_ms = now_ms;
  return true;
}

bool Introductions::due(Introduced& peer, bool first, std::uint64_t now_ms) {
  if (peer.known) return false;
  if (peer.since_ms == 0) peer.since_ms = now_ms;
  const bool at_once = first && peer.sent == 0;
  const std::uint64_t pause = kPatienceMs << peer.sent;
  return (at_once || now_ms - peer.since_ms >= pause) && may_send(peer, kMostByItself, now_ms);
}

Introductions::Next Introductions::take(Introduced& peer, bool has_ours, bool wants_word,
                                        std::uint64_t now_ms) {
  const Next out{!peer.heard, wants_word && may_send(peer, kMostInAll, now_ms)};
  peer.heard = true;
  peer.known = peer.known || has_ours;
  return out;
}

}  // namespace nnd::peers
