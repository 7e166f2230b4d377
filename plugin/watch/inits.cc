#include "watch/inits.h"

#include "context/clock.h"
#include "facts/own_sockets.h"
#include "oob/events.h"

namespace nnd::watch {

namespace {

using context::kSecond;

// The ages of the lines.
constexpr std::array kAges = {10 * kSecond, 30 * kSecond, 60 * kSecond};
// NCCL sleeps between two attempts, for 3.4 s at most (34 of 100 ms each, socketConnectCheck).
constexpr std::uint64_t kAliveNs = 5 * kSecond;

bool waits(const state::BootThread& thread, const state::Boot& boot, std::uint64_t mono_ns) {
  if (boot.call == state::BootCall::kNone) return false;
  // NCCL polls the socket, and makes no call that is seen before it has an answer.
  if (boot.call == state::BootCall::kConnect && boot.error == 0)
    if (const auto now = facts::tcp_now(boot.fd); now && now->trying) return true;
  return thread.inside.load() || mono_ns < thread.last_ns.load() + kAliveNs;
}

// Where NCCL is part of a larger module, another thread of that may wait for guests too: a root is
// what a rank of this process is with.
bool is_root(const state::Boot& boot) {
  for (const state::BootThread& one : state::boot_threads()) {
    state::Boot rank;
    if (one.owner.load() == 0 || !one.boot.get(rank) || rank.role != state::BootRole::kRank ||
        rank.began_ns == 0)
      continue;
    if (boot.call != state::BootCall::kAccept || !rank.root.known() || rank.root == boot.own)
      return true;
  }
  return false;
}

}  // namespace

void Inits::look(std::uint64_t mono_ns) {
  for (std::size_t i = 0; i < memories_.size(); ++i)
    look_at(state::boot_threads()[i], memories_[i], mono_ns);
}

// A communicator that is being made says itself when it is; a wait of one that was made is over
// with its call.
void Inits::tell_end(state::Boot boot, std::uint32_t owner, Memory& memory) {
  const bool lasts = boot.call != state::BootCall::kNone && boot.since_ns == memory.since_ns;
  if (memory.told == 0 || (owner != 0 && memory.owner != owner) || lasts) return;
  memory.told = 0;
  if (boot.role != state::BootRole::kRank || memory.making) return;
  boot.began_ns = memory.since_ns;
  oob::tell_init_done(boot);
}

void Inits::look_at(const state::BootThread& thread, Memory& memory, std::uint64_t mono_ns) {
  const std::uint32_t owner = thread.owner.load();
  state::Boot boot;
  if (!thread.boot.get(boot)) return;
  tell_end(boot, owner, memory);
  if (owner == 0 || !waits(thread, boot, mono_ns)) return;
  if (boot.role == state::BootRole::kRoot && !is_root(boot)) return;
  if (memory.owner != owner || memory.since_ns != boot.since_ns) memory = {owner, boot.since_ns, 0};
  if (memory.told == kAges.size() || mono_ns < boot.since_ns + kAges[memory.told]) return;
  while (memory.told < kAges.size() && mono_ns >= boot.since_ns + kAges[memory.told]) ++memory.told;
  memory.making = boot.began_ns != 0;
  oob::tell_init_stall(boot, mono_ns - boot.since_ns);
}

}  // namespace nnd::watch
