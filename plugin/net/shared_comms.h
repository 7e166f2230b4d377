// NCCL has one comm for all connections of a channel between the same two proxies (PXN, all-to-all;
// NCCL 2.12 and newer, src/transport/net.cc: comms->sendComm and comms->recvComm): it polls connect
// or accept of several with one place for the comm, and gives up the others when that is filled.
// Those were given up because they aren't needed.
#pragma once

#include <unordered_map>
#include <vector>

#include "context/fork_mutex.h"
#include "state/connections.h"

namespace nnd::net {

// Attempts under way, by the place that their comm is to be put in. Thread-safe.
class SharedComms {
 public:
  // A poll that ended nothing.
  void waits(state::Connection& attempt, void** place) noexcept;
  // The attempt's comm is there: those that waited for the same place need none of their own.
  std::vector<state::Connection*> filled(state::Connection& attempt, void** place) noexcept;
  // The attempt is over. True: another one has filled its place.
  bool forget(state::Connection& attempt) noexcept;

 private:
  struct Wait {
    void** place = nullptr;
    bool filled = false;
  };
  context::ForkMutex lock_;
  std::unordered_map<state::Connection*, Wait> waits_;
};

SharedComms& shared_comms() noexcept;

}  // namespace nnd::net
