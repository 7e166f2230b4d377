// The one table of this process's connections and listen comms. It lies in a range of addresses
// that is reserved once and made accessible in steps: an entry never moves, and the data path knows
// one of ours by its address. It has more places than a process can have sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/connection.h"
#include "state/ends.h"

namespace nnd::state {

struct Arena {
  std::uintptr_t begin = 0;
  std::size_t size = 0;  // 0: nothing lies in it yet
};
[[gnu::visibility("hidden")]] extern constinit Arena g_arena;

inline bool is_ours(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) - g_arena.begin < g_arena.size;
}

// --- control path; thread-safe

// An entry with all of this set before a reader can see it. Null when no memory is to be had: the
// caller then hands the transport's own object to NCCL. Its stage is kListening or kOpening.
Connection* open_connection(ConnectionKind kind, int api, const Identity& about,
                            void* ctx) noexcept;
// NCCL gets it, with the transport's comm inside: the pool of requests is ready, and as many as are
// usually in flight are in memory.
void hand_out(Connection& c, void* inner) noexcept;
// It is gone, and so is the pointer. What NCCL had is added to the totals.
void release_connection(Connection& c) noexcept;

// --- readers; no lock

// Places that were ever used: entry_at(0) to entry_at(n - 1).
std::size_t entries_used() noexcept;
// Null: the place is free, or was the parent's of a fork.
Connection* entry_at(std::size_t place) noexcept;

template <class F>
void for_each_connection(F&& f) {
  const std::size_t used = entries_used();
  for (std::size_t place = 0; place < used; ++place)
    if (Connection* const c = entry_at(place)) f(*c);
}

// Sums over all connections that NCCL had in this process: [kSend] and [kRecv].
struct Traffic {
  struct Way {
    std::uint64_t conns = 0, started = 0, completed = 0, failed = 0, bytes = 0;
  };
  Way send, recv;
  std::uint64_t open = 0;  // of them
};
Traffic traffic() noexcept;

// The same by the port that they use, of the first 64 ports; and the send connections whose
// requests took longest on average, and whose peer was waited for longest in all.
struct PortTraffic {
  FixedText<64> device;
  std::uint32_t port = 0;
  Traffic::Way send, recv;
  struct Most {
    std::uint32_t conn = 0;  // as the events'; 0: none
    std::uint64_t ns = 0;
    context::Gid peer{};
    std::int32_t peer_rank = -1;
  };
  Most slowest, awaited;
};
std::vector<PortTraffic> traffic_by_port();

// In a forked child: the parent's connections are not ours, though they may still be closed there.
void forget_connections() noexcept;

}  // namespace nnd::state
