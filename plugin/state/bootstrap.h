// How far NCCL's threads are that make a communicator, as their socket calls tell it: ranks find
// each other by TCP (NCCL's bootstrap) before any of them uses the network that we carry. Each
// entry is written by the thread that it tells of, and read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "context/gid.h"
#include "state/published.h"

namespace nnd::state {

struct SocketAddress {
  context::Gid ip{};  // IPv4 as ::ffff:a.b.c.d; all zero: not known
  std::uint16_t port = 0;

  bool known() const noexcept { return port != 0; }
  bool operator==(const SocketAddress&) const = default;
};

enum class BootRole : std::uint8_t {
  kRank,  // makes a communicator
  kRoot   // hands every rank the address of its neighbour
};

enum class BootCall : std::uint8_t { kNone, kConnect, kAccept, kReceive };

inline constexpr std::size_t kBootHosts = 16;
inline constexpr std::size_t kBootListeners = 8;

// What such a thread has done since it began, and what it waits for.
struct Boot {
  BootRole role = BootRole::kRank;
  BootCall call = BootCall::kNone;  // that has not ended
  bool first = false;               // no communicator of this process had been made before
  bool passing = false;             // the thread has an entry for this one call only
  std::uint64_t comm = 0;           // NCCL's hash; 0: not known
  std::uint64_t began_ns = 0;       // CLOCK_MONOTONIC; 0: the communicator is past its bootstrap
  std::uint64_t since_ns = 0;       // the call
  std::int32_t fd = -1;             // of the call
  SocketAddress target;             // kConnect: to whom; kReceive: from whom
  SocketAddress own;                // kAccept: where it listens
  std::uint32_t attempts = 0;       // kConnect
  std::int32_t error = 0;           // kConnect: how the last attempt ended; 0: it has not
  std::int32_t refused = 0;         // kConnect: how an earlier one ended; 0: there was none
  // What came about so far.
  std::uint32_t listens = 0, connects = 0, accepts = 0, receives = 0;
  std::array<SocketAddress, kBootListeners> listeners{};  // the first ones, in their order
  SocketAddress root;  // kRank: the first that it connected to, and from where
  SocketAddress from;
  std::array<context::Gid, kBootHosts> guests{};  // kRoot: from where ranks have come, each once
};

struct BootThread {
  std::atomic<std::uint32_t> owner{0};    // a number of the thread; 0: free
  std::atomic<std::uint64_t> last_ns{0};  // it called, CLOCK_MONOTONIC
  std::atomic<bool> inside{false};        // a call that blocks
  Published<Boot> boot;
};

inline constexpr std::size_t kBootThreads = 64;
std::array<BootThread, kBootThreads>& boot_threads() noexcept;

// What the calling thread has of its own; null where it makes no communicator.
struct OwnBoot {
  BootThread* entry = nullptr;
  std::uint32_t number = 0;
  Boot boot;

  void publish() noexcept { entry->boot.set(boot); }
};
OwnBoot* own_boot() noexcept;
// The same, with an entry anew; null: there is no room.
OwnBoot* begin_own_boot(BootRole role) noexcept;
// It is free again.
void end_own_boot() noexcept;

// The calling thread begins to make a communicator.
void begin_bootstrap(std::uint64_t comm) noexcept;
// It asks for devices: where it had heard of other ranks, its bootstrap is over. What it came to
// then, once; else false.
bool end_bootstrap(Boot& boot) noexcept;

// The ports at which NCCL listens in this process, as far as they fit. Any thread.
void remember_listener(std::uint16_t port) noexcept;
bool is_own_listener(std::uint16_t port) noexcept;

// Whether a rank of this process listens there whose bootstrap is over, and no root. Any thread.
bool is_of_a_rank(const SocketAddress& listener) noexcept;

// True once for each of the first few: another process's listener is closed. Any thread.
bool is_newly_closed(const SocketAddress& listener) noexcept;

// In a forked child: what was seen is the parent's.
void forget_bootstraps() noexcept;

}  // namespace nnd::state
