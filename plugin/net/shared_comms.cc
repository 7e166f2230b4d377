#include "net/shared_comms.h"

#include <mutex>

#include "context/immortal.h"

namespace nnd::net {

SharedComms& shared_comms() noexcept {
  static context::Immortal<SharedComms> instance;
  return *instance;
}

void SharedComms::waits(const state::Connection& attempt, void** place) noexcept try {
  const std::lock_guard guard(lock_);
  if (waits_.contains(&attempt)) return;
  waits_.emplace(&attempt, Wait{place});
  by_place_.emplace(place, &attempt);
} catch (...) {  // no memory: it counts as one of its own
}

void SharedComms::filled(const state::Connection& attempt, void** place) noexcept {
  const std::lock_guard guard(lock_);
  take(attempt);
  const auto [begin, end] = by_place_.equal_range(place);
  for (auto at = begin; at != end; ++at)
    if (const auto found = waits_.find(at->second); found != waits_.end())
      found->second = {place, true, at->second->polls.load(std::memory_order_relaxed)};
}

bool SharedComms::forget(const state::Connection& attempt) noexcept {
  const std::lock_guard guard(lock_);
  const Wait wait = take(attempt);
  return wait.filled && wait.polls == attempt.polls.load(std::memory_order_relaxed);
}

SharedComms::Wait SharedComms::take(const state::Connection& attempt) noexcept {
  const auto found = waits_.find(&attempt);
  if (found == waits_.end()) return {};
  const Wait wait = found->second;
  waits_.erase(found);
  const auto [begin, end] = by_place_.equal_range(wait.place);
  for (auto at = begin; at != end; ++at)
    if (at->second == &attempt) {
      by_place_.erase(at);
      break;
    }
  return wait;
}

}  // namespace nnd::net
