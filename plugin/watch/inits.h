// What waits for too long before the first connection: the threads of NCCL's that make a
// communicator, as state/bootstrap.h has them.
#pragma once

#include <array>
#include <cstdint>

#include "state/bootstrap.h"

namespace nnd::watch {

class Inits {
 public:
  // mono_ns: CLOCK_MONOTONIC.
  void look(std::uint64_t mono_ns);
  void forget() { memories_ = {}; }

 private:
  struct Memory {
    std::uint32_t owner = 0;
    std::uint64_t since_ns = 0;  // of the call that was told of
    unsigned told = 0;           // lines
    bool making = false;         // a communicator, then
  };
  static void tell_end(state::Boot boot, std::uint32_t owner, Memory& memory);
  void look_at(const state::BootThread& thread, Memory& memory, std::uint64_t mono_ns);

  std::array<Memory, state::kBootThreads> memories_{};
};

}  // namespace nnd::watch
