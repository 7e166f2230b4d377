// Which send connections are far slower than their siblings: how long a send took on average, from
// window to window. Receives say nothing: they are posted long before their data are sent.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "state/connection.h"

namespace nnd::watch {

class Pace {
 public:
  // One that was slow for two windows in a row, and what is usual.
  struct Slow {
    state::Connection* connection = nullptr;
    std::uint64_t mean_ns = 0, usual_ns = 0;
    bool begins = false;  // else it is over
  };
  // At the end of a window: what has changed of all connections.
  std::vector<Slow> judge();
  void forget() { memories_.clear(); }

 private:
  struct Memory {
    std::uint32_t id = 0;
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, state::kLatencyBuckets> latency{};
    unsigned slow = 0;  // windows in a row
  };
  struct Measured {
    state::Connection* connection = nullptr;
    Memory* memory = nullptr;
    std::uint64_t mean_ns = 0;
    unsigned size_class = 0;  // only alike messages are compared
  };
  static Measured measure(state::Connection& c, Memory& memory);
  static void judge(std::vector<Measured>& alike, std::vector<Slow>& out);

  std::vector<Memory> memories_;  // by place in the table
};

}  // namespace nnd::watch
