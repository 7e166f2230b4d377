// The data path's own part: what is done around the transport's isend, irecv, iflush and test. No
// lock, no allocation, no system call; the raw counter is read when a request is posted and when it
// is done.
#pragma once

#include <cstdint>

#include "context/raw_clock.h"
#include "nccl_abi/common.h"
#include "state/connections.h"

namespace nnd::net {

using state::Connection;
using state::Request;
using state::RequestKind;
using state::RequestState;

// Whether req.* events are wanted: looked at once, at init. Off by default.
void watch_requests() noexcept;
bool requests_are_traced() noexcept;

void trace_posted(const Connection& c, const Request& r) noexcept;

// After the transport accepted a request: puts our own in its place. With the pool empty NCCL gets
// the transport's request, which is counted but not timed.
inline void posted(Connection& c, void** request, RequestKind kind, std::uint64_t bytes,
                   int buffers) noexcept {
  Request* r = c.free_requests;
  if (r == nullptr) [[unlikely]] {
    if (!c.extend_pool()) return state::add(c.untracked, 1);
    r = c.free_requests;
  }
  c.free_requests = r->next_free;
  // The free ones are a stack: one is taken anew where as many as never before are in flight.
  if (r->inner == nullptr) [[unlikely]]
    state::add(c.most_in_flight, 1);
  const std::uint64_t now = context::raw_clock::now();
  r->inner = *request;
  r->bytes = bytes;
  r->state = RequestState::kInFlight;
  r->kind = kind;
  r->buffers = static_cast<std::uint16_t>(buffers);
  if (kind == RequestKind::kRecv && buffers > 1) [[unlikely]]
    c.groups.store(true, std::memory_order_relaxed);
  r->posted.store(now, std::memory_order_relaxed);
  c.count_post(now);
  if (kind == RequestKind::kSend && c.refused_since.load(std::memory_order_relaxed) != 0)
      [[unlikely]]
    c.end_peer_wait(now);
  if (kind == RequestKind::kFlush) state::add(c.flushes, 1);
  *request = r;
  if (c.traced) [[unlikely]]
    trace_posted(c, *r);
}

inline void give_back(Connection& c, Request& r) noexcept {
  r.state = RequestState::kFree;
  r.next_free = c.free_requests;
  c.free_requests = &r;
}

// After the transport said that a request in flight is done. What it took, in ticks.
[[gnu::always_inline]] inline std::uint64_t done(Connection& c, Request& r) noexcept {
  const std::uint64_t began = r.posted.load(std::memory_order_relaxed);
  const std::uint64_t now = context::raw_clock::now();
  r.posted.store(0, std::memory_order_relaxed);
  std::uint64_t bytes = r.bytes;
  bool held = false;
  if (r.kind == RequestKind::kRecv) {
    if (const int* sizes = r.tested_sizes(); sizes != nullptr)
      for (const int* const end = sizes + r.buffers; sizes != end; ++sizes)
        bytes += *sizes > 0 ? static_cast<std::uint64_t>(*sizes) : 0;
    held = c.awaits_consumed;
  }
  c.count_done(began, now, bytes);
  if (held) [[unlikely]]
    r.state = RequestState::kAwaitsConsumed;
  else
    give_back(c, r);
  return now - began;
}

// The cold halves return what NCCL gets.
nccl_abi::Result test_failed(Request& r, nccl_abi::Result rc) noexcept;
nccl_abi::Result done_traced(Connection& c, Request& r) noexcept;

// After a test that ended something: the request, or the connection. Calls nothing on a healthy
// job's way, so that no register needs to be kept.
[[gnu::noinline]] inline nccl_abi::Result tested(Request& r, nccl_abi::Result rc) noexcept {
  if (rc != nccl_abi::Result::kSuccess) [[unlikely]]
    return test_failed(r, rc);
  if (r.state != RequestState::kInFlight) [[unlikely]]
    return rc;  // tested again after it was done
  Connection& c = *r.conn;
  if (c.traced) [[unlikely]]
    return done_traced(c, r);
  done(c, r);
  return nccl_abi::Result::kSuccess;
}

}  // namespace nnd::net
