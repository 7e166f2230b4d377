// What NCCL holds in place of the transport's own objects: one Connection per listen, send or
// receive comm, and one Request per request in flight. They lie in slots of one address range that
// is reserved for the life of the process (arena.h), so that a pointer from NCCL can be told apart
// from one of the transport's by its address alone.
//
// NCCL's rule: the calls on one comm come from one thread at a time, so a connection's counters
// have a single writer. They are atomics so that the recorder may read them meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/conn_table.h"
#include "state/current.h"

namespace nnd::net {

enum class Kind : std::uint8_t { kFree, kListen, kSend, kRecv };

inline constexpr std::size_t kSlotSize = 16384;  // a slot is aligned to its size
inline constexpr std::size_t kRequestsPerConnection = 256;

enum class RequestState : std::uint8_t { kFree, kInFlight, kFailed, kAwaitsConsumed };
enum class RequestKind : std::uint8_t { kSend, kRecv, kFlush };

struct Request {
  void* inner = nullptr;
  std::atomic<std::uint64_t> posted{0};  // raw_clock; 0: not in flight
  std::uint64_t bytes = 0;               // of a send
  Request* next_free = nullptr;
  std::uint16_t buffers = 0;  // of a receive
  RequestState state = RequestState::kFree;
  RequestKind kind = RequestKind::kSend;
};

struct alignas(64) Connection {
  void* inner = nullptr;  // the transport's comm
  Request* free_requests = nullptr;
  Kind kind = Kind::kFree;
  bool awaits_consumed = false;  // the transport has irecvConsumed
  bool fail_told = false;
  bool reg_fail_told = false;
  std::uint8_t api = 0;                      // the net API's version
  std::uint64_t polls = 0;                   // of connect or accept until it was ready
  record::ConnCounters* counters = nullptr;  // of a send or receive; in the black box too
  std::atomic<std::uint64_t> flushes{0};     // of started: iflush
  state::About about;
  void* ctx = nullptr;              // NCCL's context (v11 and newer)
  std::uint64_t opened_ns = 0;      // of the first connect, accept or listen
  std::uint64_t ready_ns = 0;       // when it was handed to NCCL
  Connection* next_open = nullptr;  // chain of slots, under the arena's lock
  Connection* prev_open = nullptr;
  std::uint64_t attempt_polls = 0;     // of a listen comm: the accept that is under way
  std::uint64_t attempt_began_ns = 0;  // 0: none under way
  int attempt_qp_state = -1;           // as Attempt's
  state::About attempt;

  Request* requests() noexcept;
};

inline constexpr std::size_t kRequestsOffset = kSlotSize - kRequestsPerConnection * sizeof(Request);
static_assert(sizeof(Connection) <= kRequestsOffset);
static_assert(alignof(Request) <= 8 && kRequestsOffset % 64 == 0);

inline Request* Connection::requests() noexcept {
  return reinterpret_cast<Request*>(reinterpret_cast<char*>(this) + kRequestsOffset);
}

// raw_clock of the oldest request in flight, 0 if there is none. Reads what the data path writes:
// any thread.
inline std::uint64_t oldest_post(Connection& c) noexcept {
  std::uint64_t oldest = 0;
  for (std::size_t i = 0; i < kRequestsPerConnection; ++i) {
    const std::uint64_t at = c.requests()[i].posted.load(std::memory_order_relaxed);
    if (at != 0 && (oldest == 0 || at < oldest)) oldest = at;
  }
  return oldest;
}

inline Connection* connection_of(Request* request) noexcept {
  return reinterpret_cast<Connection*>(reinterpret_cast<std::uintptr_t>(request) &
                                       ~(std::uintptr_t{kSlotSize} - 1));
}

}  // namespace nnd::net
