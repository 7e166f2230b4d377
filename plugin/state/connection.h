// One entry of the table: a listen comm, or a connection from the first connect or accept to its
// close. NCCL holds a pointer to it in place of the transport's own comm, and one to a Request in
// place of each of the transport's.
//
// Who writes what. NCCL calls from one thread at a time for a comm, which is the connection's own
// thread: it writes all that isn't said to be another's. Atomics and Published values may be read
// by any thread at any time, without a lock; what is neither is for the connection's own thread.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "context/raw_clock.h"
#include "state/counter.h"
#include "state/current.h"
#include "state/ends.h"
#include "state/published.h"

namespace nnd::state {

enum class ConnectionKind : std::uint8_t { kNone, kListen, kSend, kRecv };

// How far it has come. Those of its QPs are those of the QP that is furthest.
enum class Stage : std::uint8_t {
  kFree,       // nobody's
  kListening,  // NCCL has a listen comm
  kOpening,    // NCCL polls connect or accept; no QP was made: the peer has not come or answered
  kQpMade,
  kInit,
  kRtr,
  kRts,      // waits for the peer's word that its own are ready
  kReady,    // NCCL has the connection
  kFailed,   // a call on it failed
  kClosing,  // inside the transport's close
};

struct Connection;

enum class RequestState : std::uint8_t { kFree, kInFlight, kFailed, kAwaitsConsumed };
enum class RequestKind : std::uint8_t { kSend, kRecv, kFlush };

struct Request {
  Connection* conn = nullptr;
  void* inner = nullptr;
  std::atomic<std::uint64_t> posted{0};  // CPU counter; 0: not in flight. Any thread may read it.
  union {
    std::uint64_t bytes = 0;  // of a send in flight
    Request* next_free;       // while it is free
  };
  RequestState state = RequestState::kFree;
  RequestKind kind = RequestKind::kSend;
  std::uint16_t buffers = 0;  // of a receive
  // NCCL's `sizes` in its last test. The watch sets the lowest bit, which an address of ints
  // hasn't, and so sees whether NCCL still asks.
  std::atomic<std::uintptr_t> last_test{kSeen};
  static constexpr std::uintptr_t kSeen = 1;

  void note_test(const int* sizes) noexcept {
    last_test.store(reinterpret_cast<std::uintptr_t>(sizes), std::memory_order_relaxed);
  }
  const int* tested_sizes() const noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it was one
    return reinterpret_cast<const int*>(last_test.load(std::memory_order_relaxed) & ~kSeen);
  }
};

inline constexpr std::size_t kRequestsPerConnection = 256;
inline constexpr std::size_t kTellableQps = 16;  // whose summary is kept; further ones are counted
inline constexpr std::size_t kUsualQps = 4;      // of them in the entry itself
inline constexpr std::size_t kLatencyBuckets = 64;
// Those below two years. The data path takes the difference of two readings as it is: where the
// counter was set back in between, it falls into one of the others, which nobody reads.
inline constexpr std::size_t kPlausibleBuckets = 56;

struct alignas(64) Connection {
  // --- one cache line: all that a healthy call needs to know
  void* inner = nullptr;  // the transport's comm
  Request* free_requests = nullptr;
  Counter started{0};  // requests that the transport took
  Counter completed{0};
  Counter bytes{0};                         // of completed ones
  std::atomic<std::uint64_t> last_post{0};  // CPU counter, 0: never; so is last_done
  std::atomic<std::uint64_t> last_done{0};
  bool traced = false;           // req.* events are wanted
  bool awaits_consumed = false;  // the transport has irecvConsumed
  bool fail_told = false;
  bool reg_fail_told = false;
  bool unlabelled = false;           // has none, and the profiler may tell it (labelling.h)
  std::atomic<std::uint8_t> api{0};  // the net API's version
  std::atomic<Stage> stage{Stage::kFree};
  std::atomic<ConnectionKind> kind{ConnectionKind::kNone};

  // --- the rest of the counters
  Counter failed{0};
  Counter untracked{0};       // requests that found the pool empty: not timed
  Counter not_taken{0};       // calls of isend, irecv and iflush that gave no request: not yet
  Counter flushes{0};         // of started: iflush
  Counter most_in_flight{0};  // at once, ever
  Counter polls{0};           // of connect or accept
  std::atomic<bool> groups{false};  // had a receive of several buffers, which several sends fill
  std::array<Counter, 3> mrs{};     // memory registered, by diagnosis::MemoryKind; any thread
  // Bucket b: completed requests that took [2^b, 2^(b+1)) ns.
  std::array<Counter, kLatencyBuckets> latency{};
  // Of a send that found no receive posted by the peer: since when it waits (CPU counter, 0: it
  // doesn't), and those that are over, as latency and in all.
  std::atomic<std::uint64_t> refused_since{0};
  std::array<Counter, kLatencyBuckets> peer_wait{};
  Counter peer_wait_ns{0};

  // --- times
  std::atomic<std::uint64_t> opened_ns{0};  // CLOCK_MONOTONIC: the first connect, accept or listen
  std::atomic<std::uint64_t> ready_ns{0};   // when it was handed to NCCL; 0: it was not
  std::atomic<std::uint64_t> last_poll{0};  // CPU counter: the last connect or accept returned
  std::atomic<bool> in_call{false};         // inside the transport's connect or accept

  // --- who it is
  std::atomic<std::uint32_t> id{0};       // as about's; 0: it is gone, or a listen comm
  std::atomic<std::uint32_t> process{0};  // generation: another one's is a parent's, before a fork
  Identity about;                         // the own thread's; published after each change
  Published<Identity> identity;
  Published<ConnectionStart> start;  // set when it is opened
  Published<Labels> labels;          // set at its first request, where the profiler tells
  bool wants_label = false;          // the own thread's: had a request, and has no label
  Published<ConnectionEnds> ends;    // the verbs layer's, written inside calls of this connection's
  // Id of the thread of its first request, NCCL's progress thread; 0: it had none.
  std::atomic<std::uint32_t> poster{0};
  // The verbs layer's, each by the thread that moves this QP. The n-th QP of the connection, flush
  // QPs included.
  std::atomic<std::uint32_t> qps{0};
  std::array<Published<QpSummary>, kUsualQps> usual_qps{};
  // The ibv_modify_qp that is under way: since when (CPU counter, 0: none), to which enum
  // ibv_qp_state, and which attempt of this transition it is.
  std::atomic<std::uint64_t> moving_since{0};
  std::atomic<std::uint32_t> moving_to{0};
  std::atomic<std::uint32_t> moving_attempt{0};

  // --- the net layer's own
  std::atomic<void*> ctx{nullptr};      // NCCL's context (v11 and newer)
  std::array<std::byte, 128> handle{};  // of a connect: as the last poll left it
  Connection* next_free = nullptr;      // the table's, under its lock
  std::atomic<std::uint32_t> pool{0};   // requests that it can have in flight by now
  std::uint32_t pool_made = 0;          // that were ever made, for it or one before in its place

  Request& request(std::size_t i) noexcept;
  // More of them, where all that there are are in flight: as many as lie in the next page of
  // memory. False: it has all.
  bool extend_pool() noexcept;
  Published<QpSummary>& qp(std::size_t i) noexcept;  // i < kTellableQps
  const Published<QpSummary>& qp(std::size_t i) const noexcept;
  void publish() noexcept { identity.set(about); }
  // Further, unless it is there already or NCCL has it.
  void advance(Stage to) noexcept {
    const Stage now = stage.load(std::memory_order_relaxed);
    if (now >= Stage::kOpening && now < to && now < Stage::kReady)
      stage.store(to, std::memory_order_relaxed);
  }

  void count_post(std::uint64_t raw_now) noexcept {
    add(started, 1);
    last_post.store(raw_now, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] void note_refused() noexcept {
    if (refused_since.load(std::memory_order_relaxed) == 0)
      refused_since.store(context::raw_clock::now(), std::memory_order_relaxed);
  }
  void end_peer_wait(std::uint64_t raw_now) noexcept {
    const std::uint64_t since = refused_since.exchange(0, std::memory_order_relaxed);
    const std::uint64_t ns = context::raw_clock::elapsed_ns(since, raw_now);
    add(peer_wait_ns, ns);
    add(peer_wait[static_cast<unsigned>(std::bit_width(ns | 1)) - 1], 1);
  }
  void count_done(std::uint64_t posted_raw, std::uint64_t raw_now, std::uint64_t size) noexcept {
    add(completed, 1);
    add(bytes, size);
    last_done.store(raw_now, std::memory_order_relaxed);
    const std::uint64_t ns = context::raw_clock::to_ns(raw_now - posted_raw);
    add(latency[static_cast<unsigned>(std::bit_width(ns | 1)) - 1], 1);
  }
};

// What few connections need lies beside the table, in memory that is there once it is touched: with
// a dozen requests in flight and four QPs a connection has all in its entry.
inline constexpr std::size_t kEntrySize = 3072;
inline constexpr std::size_t kRequestsAtFirst = (kEntrySize - sizeof(Connection)) / sizeof(Request);
struct alignas(4096) Annex {
  std::array<Published<QpSummary>, kTellableQps - kUsualQps> qps;
  std::array<Request, kRequestsPerConnection - kRequestsAtFirst> requests;
};
static_assert(offsetof(Connection, failed) == 64);
static_assert(kRequestsAtFirst >= 10);
static_assert(kEntrySize % alignof(Connection) == 0);

// CPU counter when the oldest request in flight was posted, 0 if there is none. Any thread.
std::uint64_t oldest_post(Connection& c) noexcept;
// Whether NCCL has asked, since the last call of this, if any request in flight is done. One
// thread at a time, the watch's.
bool take_asked(Connection& c) noexcept;

}  // namespace nnd::state
