// Connect, accept, listen and close over any transport, whatever the net API's version: the shim of
// each version passes the call itself as a function. Nothing here throws; where memory is short
// NCCL gets the transport's own object and the connection goes unseen.
#pragma once

#include <cstdint>

#include "nccl_abi/common.h"
#include "net/attempts.h"
#include "net/conn_events.h"
#include "net/handle.h"
#include "state/connections.h"

namespace nnd::net {

using state::Connection;
using state::is_ours;

inline void* inner_of(void* comm) noexcept {
  return is_ours(comm) ? static_cast<Connection*>(comm)->inner : comm;
}

inline const state::Identity& about(void* comm) noexcept {
  static constexpr state::Identity kUnknown{};
  return is_ours(comm) ? static_cast<Connection*>(comm)->about : kUnknown;
}

// One call of listen: a trailer into the handle, our own object in place of the transport's.
class ListenCall {
 public:
  ListenCall(int api, void* ctx, int dev, void* handle) noexcept;
  const state::Identity& about() const noexcept { return about_; }
  void finish(nccl_abi::Result rc, void** listen_comm) noexcept;

 private:
  int api_;
  void* ctx_;
  const void* handle_;
  HandleTail tail_;
  state::Identity about_;
  std::uint64_t began_ns_;
};

// One call of connect.
class ConnectPoll {
 public:
  ConnectPoll(int api, void* ctx, int dev, void* handle) noexcept;
  const state::Identity& about() const noexcept;
  // awaits_consumed: the transport has irecvConsumed. What NCCL is to get: rc, or an error where
  // the policy's deadline is over.
  nccl_abi::Result finish(nccl_abi::Result rc, void** comm, bool awaits_consumed) noexcept;

 private:
  void* handle_;
  Connection* attempt_;  // null: out of memory
};

// One call of accept on a listen comm of ours.
class AcceptPoll {
 public:
  explicit AcceptPoll(Connection& listener) noexcept;
  const state::Identity& about() const noexcept;
  nccl_abi::Result finish(nccl_abi::Result rc, void** comm, bool awaits_consumed) noexcept;

 private:
  Connection& listener_;
  Connection* attempt_;  // null: out of memory
};

// After the transport closed the comm of a connection of ours, which is gone afterwards.
void closed(Connection& c, nccl_abi::Result rc, std::uint64_t began_ns) noexcept;

// A call on a ready connection failed: told once per connection.
// Returns rc.
nccl_abi::Result failed(Connection& c, const char* stage, nccl_abi::Result rc) noexcept;
void reg_failed(void* comm, const char* stage, nccl_abi::Result rc) noexcept;

// After the transport's init. ctx and comm tell which communicator a later call is for, from v11
// on; before, ctx is null.
void tell_comm_init(int api, void** ctx, std::uint64_t comm, const nccl_abi::NetCommConfig* config,
                    nccl_abi::Result rc) noexcept;

// Before the transport's finalize. Tells what is still open or under way there.
void finalizing(int api, void* ctx) noexcept;

// Attempts under way in this process.
Attempts& attempts() noexcept;
// Ends those that NCCL gave up without a word. About once a second, from any thread.
void end_given_up(std::uint64_t mono_ns) noexcept;

}  // namespace nnd::net
