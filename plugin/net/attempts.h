// Connects under way. NCCL polls connect with the same handle memory until it has a comm; the
// transport keeps its own progress in that memory. An attempt ends with success, with failure, when
// the same memory holds another handle, or when its communicator is finalized.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "context/fork_mutex.h"
#include "nccl_abi/common.h"
#include "state/current.h"

namespace nnd::net {

struct Attempt {
  state::About about;
  void* ctx = nullptr;
  std::uint64_t began_ns = 0;
  std::uint64_t polls = 0;
  int qp_state = -1;  // enum ibv_qp_state that its QPs came to; -1: none was made
  std::array<std::byte, nccl_abi::kHandleSize> content{};  // as the last poll left it
};

// Thread-safe; one attempt is polled by one thread at a time.
class Attempts {
 public:
  struct Entered {
    std::shared_ptr<Attempt> attempt;   // null: out of memory
    bool begun = false;                 // the first poll
    std::shared_ptr<Attempt> replaced;  // the attempt that had this memory before
  };
  Entered enter(void* handle, void* ctx, int dev) noexcept;
  // After a poll that ended nothing.
  void leave(Attempt& attempt, const void* handle) noexcept;
  // After a poll that ended it.
  void drop(void* handle, const Attempt& attempt) noexcept;
  // Those of a communicator that goes away.
  std::vector<std::shared_ptr<Attempt>> take_all(void* ctx);
  std::size_t size();

 private:
  context::ForkMutex lock_;
  std::unordered_map<void*, std::shared_ptr<Attempt>> by_handle_;
};

}  // namespace nnd::net
