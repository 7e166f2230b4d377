// The counters of each connection. The net layer acquires a counter block when it makes a
// connection and writes it from the data path; the drain thread copies the blocks into the black
// box every 100 ms, so that they outlive the process.
//
//   ConnCounters* c = acquire_conn(connection);       // control path; never null
//   c->count_post(context::raw_clock::now());                  // isend, irecv, iflush
//   c->count_done(started_at, context::raw_clock::now(), n);   // test that found the request done
//   release_conn(c);                                  // close
//
// One thread writes a block at a time (NCCL drives a connection from one proxy thread); anybody may
// read it. Every operation is a plain load and store: no lock prefix, no allocation, no system
// call.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "context/raw_clock.h"
#include "nccl_net_diag/black_box.h"
#include "state/current.h"

namespace nnd::record {

class Box;
class Pack;

struct alignas(64) ConnCounters {
  using Word = std::atomic<std::uint64_t>;

  // Who it is: set by acquire_conn. conn is 0 while the block is free.
  std::atomic<std::uint32_t> conn{0};
  std::atomic<std::uint8_t> dir{0};
  std::atomic<std::int32_t> dev{-1};
  Word comm{0};
  Word link_proc{0};
  Word link_listen{0};
  Word peer_proc{0};  // may be set later, when the peer has told

  // Requests handed to the transport, and how they ended; bytes of completed ones.
  Word started{0};
  Word completed{0};
  Word failed{0};
  Word bytes{0};
  Word untracked{0};   // requests that found no place in the request table
  Word first_post{0};  // raw_clock
  Word last_post{0};
  Word last_done{0};
  // Bucket b: completed requests that took [2^b, 2^(b+1)) ns; the last one takes all above.
  Word latency[nccl_net_diag::box::kLatencyBuckets] = {};

  static void add(Word& word, std::uint64_t n) noexcept {
    word.store(word.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void count_post(std::uint64_t raw_now) noexcept {
    if (started.load(std::memory_order_relaxed) == 0)
      first_post.store(raw_now, std::memory_order_relaxed);
    add(started, 1);
    last_post.store(raw_now, std::memory_order_relaxed);
  }
  void count_done(std::uint64_t posted_raw, std::uint64_t raw_now, std::uint64_t size) noexcept {
    add(completed, 1);
    add(bytes, size);
    last_done.store(raw_now, std::memory_order_relaxed);
    const std::uint64_t ns = context::raw_clock::to_ns(raw_now - posted_raw);
    const auto bucket = static_cast<unsigned>(std::bit_width(ns | 1)) - 1;
    add(latency[bucket < nccl_net_diag::box::kLatencyBuckets
                    ? bucket
                    : nccl_net_diag::box::kLatencyBuckets - 1],
        1);
  }
};

// A block for a connection. When the table is full it lies on the heap and is not in the black box;
// without memory it is one that all share, whose numbers mean nothing.
ConnCounters* acquire_conn(const state::About& connection) noexcept;
void release_conn(ConnCounters* counters) noexcept;

// For whoever watches: the i-th block of the table (i < conn_table_size()), in use while conn != 0.
ConnCounters& conn_at(std::uint32_t i) noexcept;
std::uint32_t conn_table_size() noexcept;

// For the drain.
void mirror_conns(Box& box) noexcept;
// Adds "traffic": sums over all connections of this process, closed ones included.
void add_traffic(Pack& fields);
// In a forked child: the parent's connections are not ours.
void forget_conns() noexcept;

}  // namespace nnd::record
