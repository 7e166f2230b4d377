#include "net/shared_comms.h"

#include <mutex>

#include "context/immortal.h"

namespace nnd::net {

SharedComms& shared_comms() noexcept {
  static context::Immortal<SharedComms> instance;
  return *instance;
}

void SharedComms::waits(state::Connection& attempt, void** place) noexcept try {
  const std::lock_guard guard(lock_);
  waits_.try_emplace(&attempt, Wait{place, false});
} catch (...) {  // no memory: it counts as one of its own
}

std::vector<state::Connection*> SharedComms::filled(state::Connection& attempt,
                                                    void** place) noexcept try {
  std::vector<state::Connection*> needless;
  const std::lock_guard guard(lock_);
  waits_.erase(&attempt);
  for (auto& [other, wait] : waits_) {
    if (wait.place != place) continue;
    wait.filled = true;
    needless.push_back(other);
  }
  return needless;
} catch (...) {
  return {};
}

bool SharedComms::forget(state::Connection& attempt) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = waits_.find(&attempt);
  if (found == waits_.end()) return false;
  const bool filled = found->second.filled;
  waits_.erase(found);
  return filled;
}

}  // namespace nnd::net
