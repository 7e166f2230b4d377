// The data path's own part: what is done around the transport's isend, irecv, iflush and test. No
// lock, no allocation, no system call; the raw counter is read when a request is posted and when it
// is done.
#pragma once

#include <atomic>
#include <cstdint>

#include "context/raw_clock.h"
#include "net/connection.h"

namespace nnd::net {

// Whether req.* events are wanted: read once at init, off by default.
extern std::atomic<bool> trace_requests;
void watch_requests() noexcept;  // at each init

// The cold halves.
void trace_posted(const Connection& c, const Request& r) noexcept;
void trace_done(const Connection& c, const Request& r, std::uint64_t ticks) noexcept;

// After the transport accepted a request: puts our own in its place. With the pool empty NCCL gets
// the transport's request, which is counted but not timed.
inline void posted(Connection& c, void** request, RequestKind kind, std::uint64_t bytes,
                   int buffers) noexcept {
  Request* const r = c.free_requests;
  if (r == nullptr) [[unlikely]] {
    record::ConnCounters::add(c.counters->untracked, 1);
    return;
  }
  c.free_requests = r->next_free;
  const std::uint64_t now = context::raw_clock::now();
  r->inner = *request;
  r->bytes = bytes;
  r->buffers = static_cast<std::uint16_t>(buffers);
  r->state = RequestState::kInFlight;
  r->kind = kind;
  r->posted.store(now, std::memory_order_relaxed);
  c.counters->count_post(now);
  if (kind == RequestKind::kFlush) record::ConnCounters::add(c.flushes, 1);
  *request = r;
  if (trace_requests.load(std::memory_order_relaxed)) [[unlikely]]
    trace_posted(c, *r);
}

inline void give_back(Connection& c, Request& r) noexcept {
  r.state = RequestState::kFree;
  r.next_free = c.free_requests;
  c.free_requests = &r;
}

// After the transport said that a request is done. sizes: as NCCL passed it to test, may be null.
inline void done(Request& r, const int* sizes) noexcept {
  if (r.state != RequestState::kInFlight) [[unlikely]]
    return;  // tested again after it was done
  Connection& c = *connection_of(&r);
  const std::uint64_t now = context::raw_clock::now();
  std::uint64_t bytes = r.bytes;
  if (r.kind == RequestKind::kRecv && sizes != nullptr)
    for (unsigned i = 0; i < r.buffers; ++i)
      bytes += sizes[i] > 0 ? static_cast<std::uint64_t>(sizes[i]) : 0;
  const std::uint64_t began = r.posted.load(std::memory_order_relaxed);
  c.counters->count_done(began, now, bytes);
  r.posted.store(0, std::memory_order_relaxed);
  if (trace_requests.load(std::memory_order_relaxed)) [[unlikely]]
    trace_done(c, r, now - began);
  if (r.kind == RequestKind::kRecv && c.awaits_consumed) [[unlikely]]
    r.state = RequestState::kAwaitsConsumed;
  else
    give_back(c, r);
}

}  // namespace nnd::net
