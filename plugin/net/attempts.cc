#include "net/attempts.h"

#include <cstring>
#include <mutex>

namespace nnd::net {

static_assert(sizeof(Connection::handle) == nccl_abi::kHandleSize);

Attempts::Entered Attempts::enter(int api, void* handle, void* ctx, int dev) noexcept try {
  const std::lock_guard guard(lock_);
  const auto place = by_handle_.try_emplace(handle, nullptr).first;
  Connection* const known = place->second;
  if (known != nullptr && known->ctx == ctx && known->about.dev == dev &&
      std::memcmp(known->handle.data(), handle, known->handle.size()) == 0)
    return {known, false, nullptr};
  state::About about;
  about.dev = dev;
  about.dir = state::Direction::kSend;
  place->second = state::open_connection(state::Kind::kSend, api, about, ctx);
  const Entered entered{place->second, place->second != nullptr, known};
  if (place->second == nullptr) by_handle_.erase(place);
  return entered;
} catch (...) {
  return {};
}

void Attempts::leave(Connection& attempt, const void* handle) noexcept {
  std::memcpy(attempt.handle.data(), handle, attempt.handle.size());
}

void Attempts::drop(void* handle, const Connection& attempt) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = by_handle_.find(handle);
  if (found != by_handle_.end() && found->second == &attempt) by_handle_.erase(found);
}

std::vector<Connection*> Attempts::take_all(void* ctx) {
  std::vector<Connection*> taken;
  const std::lock_guard guard(lock_);
  taken.reserve(by_handle_.size());
  for (auto i = by_handle_.begin(); i != by_handle_.end();) {
    if (i->second->ctx == ctx) {
      taken.push_back(i->second);
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
