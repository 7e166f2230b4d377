#include "peers/compare.h"

#include <algorithm>
#include <string_view>

namespace nnd::peers {

namespace {

constexpr std::uint32_t kDisagreeMs = 2000;

// All that one end has sent is done, and at the other, which waits, less has come.
bool sent_and_not_come(const Link& sender, const Link& receiver) {
  const bool sent = sender.state == EndState::kQuiet || sender.state == EndState::kOwn;
  // A send may have been larger than what NCCL there took of it, and several sends may fill one
  // receive: both differ only where something is missing.
  const std::uint32_t more = sender.moved.requests - receiver.moved.requests;
  return sent && receiver.state == EndState::kAwaitsData && sender.moved.known &&
         receiver.moved.known && more != 0 && more < (1u << 31) &&
         sender.moved.bytes != receiver.moved.bytes;
}

}  // namespace

bool disagree(const Link& here, const Link& there) {
  // It has closed it, maybe.
  if (here.state == EndState::kUnknown || there.state == EndState::kUnknown) return false;
  if (here.state == EndState::kStuck || there.state == EndState::kStuck) return true;
  if (std::min(here.age_ms, there.age_ms) < kDisagreeMs) return false;
  if (sent_and_not_come(here, there) || sent_and_not_come(there, here)) return true;
  return (here.state == EndState::kAwaitsData && there.state == EndState::kAwaitsRoom) ||
         (here.state == EndState::kAwaitsRoom && there.state == EndState::kAwaitsData);
}

bool differ(const Doing& a, const Doing& b) {
  return a.known() && a.comm == b.comm && a.number >= 0 && b.number >= 0 &&
         (a.ordinal != b.ordinal || std::string_view(a.func) != std::string_view(b.func) ||
          a.bytes != b.bytes);
}

bool less(const Doing& a, const Doing& b) {
  if (a.ordinal != b.ordinal) return a.ordinal < b.ordinal;
  if (std::string_view(a.func) != std::string_view(b.func))
    return std::string_view(a.func) < std::string_view(b.func);
  return a.bytes < b.bytes;
}

void widen(Probe& probe, const Who& who, const Doing& doing) {
  if (!doing.known()) {
    // Of releases that tell of no calls any two, the same for all.
    if (probe.least.known()) return;
    if (!probe.least_who.known() || who.proc < probe.least_who.proc) probe.least_who = who;
    if (probe.most_who.proc < who.proc) probe.most_who = who;
    return;
  }
  if (!probe.least.known()) {
    probe.least = probe.most = doing;
    probe.least_who = probe.most_who = who;
  }
  if (doing.comm != probe.least.comm) return;
  if (less(doing, probe.least)) {
    probe.least = doing;
    probe.least_who = who;
  }
  if (less(probe.most, doing)) {
    probe.most = doing;
    probe.most_who = who;
  }
}

}  // namespace nnd::peers
