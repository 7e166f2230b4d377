#include "net/attempts.h"

#include <cstring>
#include <mutex>

namespace nnd::net {

Attempts::Entered Attempts::enter(void* handle, void* ctx, int dev) noexcept try {
  Entered result;
  const std::lock_guard guard(lock_);
  std::shared_ptr<Attempt>& slot = by_handle_[handle];
  if (slot && slot->ctx == ctx && slot->about.dev == dev &&
      std::memcmp(slot->content.data(), handle, nccl_abi::kHandleSize) == 0) {
    result.attempt = slot;
    return result;
  }
  auto fresh = std::make_shared<Attempt>();
  fresh->ctx = ctx;
  fresh->about.dev = dev;
  fresh->about.dir = state::Direction::kSend;
  result.replaced = std::move(slot);
  slot = std::move(fresh);
  result.attempt = slot;
  result.begun = true;
  return result;
} catch (...) {
  return {};
}

void Attempts::leave(Attempt& attempt, const void* handle) noexcept {
  ++attempt.polls;
  std::memcpy(attempt.content.data(), handle, nccl_abi::kHandleSize);
}

void Attempts::drop(void* handle, const Attempt& attempt) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = by_handle_.find(handle);
  if (found != by_handle_.end() && found->second.get() == &attempt) by_handle_.erase(found);
}

std::vector<std::shared_ptr<Attempt>> Attempts::take_all(void* ctx) {
  std::vector<std::shared_ptr<Attempt>> taken;
  const std::lock_guard guard(lock_);
  for (auto i = by_handle_.begin(); i != by_handle_.end();) {
    if (i->second->ctx == ctx) {
      taken.push_back(std::move(i->second));
      i = by_handle_.erase(i);
    } else {
      ++i;
    }
  }
  return taken;
}

std::size_t Attempts::size() {
  const std::lock_guard guard(lock_);
  return by_handle_.size();
}

}  // namespace nnd::net
