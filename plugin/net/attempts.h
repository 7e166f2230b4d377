// Connects under way. NCCL polls connect with the same handle memory until it has a comm; the
// transport keeps its own progress in that memory. An attempt ends with success, with failure, when
// the same memory holds another handle, or when its communicator is finalized.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "context/fork_mutex.h"
#include "nccl_abi/common.h"
#include "state/connections.h"

namespace nnd::net {

using state::Connection;

// Which entry of the table belongs to which memory. Thread-safe; one attempt is polled by one
// thread at a time.
class Attempts {
 public:
  struct Entered {
    Connection* attempt = nullptr;   // null: out of memory
    bool begun = false;              // the first poll
    Connection* replaced = nullptr;  // the attempt that had this memory before; now the caller's
  };
  Entered enter(int api, void* handle, void* ctx, int dev) noexcept;
  // After a poll that ended nothing.
  void leave(Connection& attempt, const void* handle) noexcept;
  // After a poll that ended it: the entry is the caller's.
  void drop(void* handle, const Connection& attempt) noexcept;
  // Those of a communicator that goes away: the caller's.
  std::vector<Connection*> take_all(void* ctx);
  std::size_t size();

 private:
  context::ForkMutex lock_;
  std::unordered_map<void*, Connection*> by_handle_;
};

}  // namespace nnd::net
