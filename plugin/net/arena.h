// The address range that holds all Connections. Slots are taken and given back on the control path,
// under a lock; the data path only compares addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "net/connection.h"

namespace nnd::net {

inline constexpr std::size_t kArenaSlots = 65536;
inline constexpr std::size_t kArenaSize = kArenaSlots * kSlotSize;

// Start of the range; UINTPTR_MAX - kArenaSize while there is none, so that nothing lies in it.
extern std::uintptr_t arena_begin;

inline bool is_ours(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) - arena_begin < kArenaSize;
}

// Null when no memory is to be had: the caller then hands the transport's own object to NCCL.
// Thread-safe. The request pool of a send or receive is ready and its pages are present.
Connection* acquire_connection(Kind kind) noexcept;
void release_connection(Connection* connection) noexcept;

// Calls f for every connection that NCCL holds, under the arena's lock.
void for_each_connection(const std::function<void(Connection&)>& f);

}  // namespace nnd::net
