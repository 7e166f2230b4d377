// NCCL has one comm for all connections of a channel between the same two proxies (PXN, all-to-all;
// NCCL 2.12 and newer, src/transport/net.cc: comms->sendComm and comms->recvComm): it polls connect
// or accept of several with one place for the comm, and gives up the others when that is filled.
// Those were given up because they aren't needed.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "context/fork_mutex.h"
#include "state/connections.h"

namespace nnd::net {

// Attempts under way, by the place that their comm is to be put in. Thread-safe.
class SharedComms {
 public:
  // The first poll that ended nothing.
  void waits(const state::Connection& attempt, void** place) noexcept;
  // The attempt's comm is there.
  void filled(const state::Connection& attempt, void** place) noexcept;
  // The attempt is over. True: another one has filled its place, and it was not polled since.
  bool forget(const state::Connection& attempt) noexcept;

 private:
  struct Wait {
    void** place = nullptr;
    bool filled = false;
    std::uint64_t polls = 0;  // when it was filled
  };
  // The attempt's, which is taken out; empty: it is not here. Under the lock.
  Wait take(const state::Connection& attempt) noexcept;

  context::ForkMutex lock_;
  std::unordered_map<const state::Connection*, Wait> waits_;
  std::unordered_multimap<void**, const state::Connection*> by_place_;
};

SharedComms& shared_comms() noexcept;

}  // namespace nnd::net
