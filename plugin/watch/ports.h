// What the ports count, read now and then: told where one gets worse, and with each failure that
// asked for it. Its look blocks for as long as the driver does. One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "facts/counters.h"

namespace nnd::watch {

class Ports {
 public:
  // What a port counts within this time is judged.
  explicit Ports(std::uint64_t window_ns) : window_ns_(window_ns) {}

  void look();
  // Whether one was told. Any thread.
  bool any_worse() const { return any_worse_.load(std::memory_order_relaxed); }
  // In a forked child: what was told is the parent's.
  void forget() {
    told_.clear();
    any_worse_.store(false, std::memory_order_relaxed);
  }

 private:
  void judge(const facts::PortName& port);

  const std::uint64_t window_ns_;
  std::atomic<bool> any_worse_{false};
  std::map<std::pair<facts::PortName, bool>, std::uint64_t> told_;  // counts; second: the link's
};

// Told once for each hang: the thread that reads is inside the driver.
void tell_silent_driver(const std::optional<facts::Reading>& reading, std::uint64_t mono_ns);

}  // namespace nnd::watch
