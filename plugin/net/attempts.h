// Connects and accepts under way. NCCL polls connect with the same handle memory until it has a
// comm, where the transport keeps its own progress, and accept with the same listen comm. An
// attempt ends with success, with failure, when the same memory holds another handle, when its
// listen comm is closed or its communicator finalized; and when NCCL has not asked for it any more
// for minutes: up to NCCL 2.27 (net API v10) nothing is called for what an abort leaves unfinished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "context/fork_mutex.h"
#include "nccl_abi/common.h"
#include "state/connections.h"

namespace nnd::net {

using state::Connection;

// After which an attempt that nobody polls is over.
inline constexpr std::uint64_t kGivenUpNs = 300'000'000'000;

// Which entry of the table belongs to which memory or listen comm. Thread-safe; one attempt is
// polled by one thread at a time.
class Attempts {
 public:
  struct Entered {
    Connection* attempt = nullptr;   // null: out of memory; else in_call is set
    bool begun = false;              // the first poll
    Connection* replaced = nullptr;  // the attempt that had this memory before; now the caller's
  };
  Entered enter(int api, void* handle, void* ctx, int dev) noexcept;
  Entered enter(Connection& listener) noexcept;
  // After a poll that ended nothing.
  void leave(Connection& attempt, const void* handle) noexcept;
  // After a poll that ended it: the entry is the caller's. `key`: the handle, or the listen comm.
  void drop(const void* key, const Connection& attempt) noexcept;
  // The accept that is under way there, or null: the caller's.
  Connection* take(const Connection& listener) noexcept;
  // Those of a communicator that goes away: the caller's.
  std::vector<Connection*> take_all(void* ctx);

  struct GivenUp {
    Connection* attempt;  // the caller's
    std::uint64_t unpolled_ns;
  };
  // Of the looks at all attempts, one a second or so: those that nobody polled for kGivenUpNs. What
  // a process sleeps is not counted, nor any time in which NCCL is in a call of one of them: its
  // thread can't poll the others meanwhile. mono_ns: CLOCK_MONOTONIC.
  std::vector<GivenUp> take_given_up(std::uint64_t mono_ns);
  std::size_t size();
  // In a forked child: they are the parent's.
  void forget() noexcept;

 private:
  struct Known {
    Connection* attempt = nullptr;
    std::uint64_t polls = 0;  // when it was looked at last
    std::uint64_t unpolled_ns = 0;
  };

  context::ForkMutex lock_;
  std::unordered_map<const void*, Known> by_key_;
  std::uint64_t last_look_ns_ = 0;
};

}  // namespace nnd::net
