// The scenario's faults as this process meets them: counts its calls, work requests and messages.
// Own lock; callable from anywhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "softverbs/fabric.h"

namespace softverbs {

struct Refusal {
  int error = 0;
  int delay_ms = 0;
};

// What becomes of a work request: it fails, or it begins late.
struct Injected {
  int status = 0;  // 0: it is held
  std::uint32_t vendor_err = 0;
  int hold_ms = 0;
};

class Faults {
 public:
  // trigger is called, outside the lock, when a fault's moment has come by count or by time; met,
  // under the lock, when this process meets a fault for the first time.
  Faults(const Scenario& scenario, std::chrono::system_clock::time_point fabric_start,
         std::function<void(const Fault&, bool begins)> trigger, std::function<void()> met);

  // A call of a verb on a device of this process's host (hca may be empty: the device list).
  std::optional<Refusal> call(std::string_view verb, std::string_view host, std::string_view hca);
  // Whether a post may be one of these. No lock: it is asked at each.
  bool fails_posts() const { return fails_posts_; }
  std::optional<Refusal> to_rtr(const Endpoint& local, const Endpoint& peer);
  std::optional<Injected> work_request(const Endpoint& local, bool read);

  // Whether a fault has emptied this slot of a GID table.
  bool gid_gone(std::string_view host, std::string_view hca, int index) const;

  // Milliseconds until a timed fault begins or ends, or -1; and those whose time has come.
  int next_ms() const;
  void keep_times();

 private:
  struct Counted {
    const Fault* fault = nullptr;
    std::uint64_t count = 0;
    bool begun = false;
    bool over = false;
    std::chrono::system_clock::time_point begin = std::chrono::system_clock::time_point::max();
    std::chrono::system_clock::time_point end = std::chrono::system_clock::time_point::max();
  };

  bool hit(Counted& counted);
  static bool matches(const Fault& fault, const Endpoint& local);
  void fire(Counted& counted, bool begins);

  mutable std::mutex mutex_;
  std::vector<Counted> counted_;
  bool fails_posts_ = false;
  std::function<void(const Fault&, bool)> trigger_;
  std::function<void()> met_;
};

}  // namespace softverbs
