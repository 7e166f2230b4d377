// For whom this process waits in the end, once its peers have said so: the event job.stall, and
// what others tell of it (state/awaited.h). One thread.
#pragma once

#include <cstdint>

#include "peers/bucket.h"
#include "peers/claim.h"

namespace nnd::watch {

class Roots {
 public:
  explicit Roots(std::uint64_t due_ns) : due_ns_(due_ns) {}

  // own: what the last look gave (WaitCollector::end).
  void look(std::uint64_t waits_ms, const peers::Doing& in, std::uint64_t self);
  void forget();

 private:
  void forget_awaited();

  const std::uint64_t due_ns_;
  peers::Claim told_;
  std::uint64_t failures_ = 0;        // that there were when it was told
  peers::Bucket lines_{60, 600'000};  // a peer that says something else all the time fills no disk
};

}  // namespace nnd::watch
