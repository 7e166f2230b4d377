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
  waits_.try_emplace(&attempt, Wait{place});
} catch (...) {  // no memory: it counts as one of its own
}

void SharedComms::filled(const state::Connection& attempt, void** place) noexcept {
  const std::lock_guard guard(lock_);
  waits_.erase(&attempt);
  for (auto& [other, wait] : waits_)
    if (wait.place == place) wait = {place, true, other->polls.load(std::memory_order_relaxed)};
}

bool SharedComms::forget(const state::Connection& attempt) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = waits_.find(&attempt);
  if (found == waits_.end()) return false;
  const Wait wait = found->second;
  waits_.erase(found);
  return wait.filled && wait.polls == attempt.polls.load(std::memory_order_relaxed);
}

}  // namespace nnd::net
