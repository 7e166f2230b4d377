// Which send connections are far slower than their siblings, and which ports than they were before:
// judged from window to window. Receives say nothing: they are posted long before their data are
// sent.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "state/connection.h"

namespace nnd::watch {

class SlowSendDetector {
 public:
  // One that was slow for two windows in a row, and what is usual: on its siblings, or on its port
  // before.
  struct Slow {
    state::Connection* connection = nullptr;
    std::uint64_t mean_ns = 0, usual_ns = 0;
    bool begins = false;  // else it is over
    // Of the port, in bytes a second while anything was under way: at most now, at least before; 0:
    // it was compared with its siblings.
    double rate = 0, usual_rate = 0;
  };
  // At the end of a window: what has changed of all connections.
  std::vector<Slow> judge(std::uint64_t window_ns);
  void forget() {
    memories_.clear();
    pasts_.clear();
  }

 private:
  struct Memory {
    std::uint32_t id = 0;
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, state::kLatencyBuckets> latency{};
    unsigned slow = 0;  // windows in a row
  };
  // Sends that ended within a window.
  struct Sends {
    std::uint64_t count = 0, bytes = 0;
    double ns = 0;  // all their times

    std::uint64_t mean_ns() const;
    unsigned size_class() const;  // only alike messages are compared
  };
  struct Measured {
    state::Connection* connection = nullptr;
    Memory* memory = nullptr;
    Sends sends;
  };
  // A port within a window.
  struct PortWindow {
    Sends sends;
    std::uint64_t most_in_flight = 0;
    const Measured* slowest = nullptr;
  };
  struct Past {
    struct Window {
      unsigned size_class = 0;
      std::uint64_t mean_ns = 0;
      double rate = 0;
    };
    std::deque<Window> windows;
    unsigned slow = 0;  // windows in a row
  };
  using PortName = std::pair<std::string, std::uint32_t>;

  std::vector<Measured> measure();
  static Sends measure(const state::Connection& c, Memory& memory);
  static void judge_siblings(std::vector<Measured*>& alike, std::vector<Slow>& out);
  static void judge_past(const PortWindow& now, Past& past, std::uint64_t window_ns,
                         std::vector<Slow>& out);

  std::vector<Memory> memories_;  // by place in the table
  std::map<PortName, Past> pasts_;
};

}  // namespace nnd::watch
