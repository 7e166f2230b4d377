#include "net/attempts.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "context/memory_order.h"

namespace nnd::net {

namespace {

using context::kRelaxed;

// A look that comes later than this comes after a sleep of the whole process.
constexpr std::uint64_t kLongestBetweenLooksNs = 3'000'000'000;

}  // namespace

static_assert(sizeof(Connection::handle) == nccl_abi::kHandleSize);

Attempts::Entered Attempts::enter(int api, void* handle, void* ctx, int dev) noexcept try {
  const std::lock_guard guard(lock_);
  const auto place = by_key_.try_emplace(handle).first;
  Connection* const known = place->second.attempt;
  if (known != nullptr && known->ctx == ctx && known->about.dev == dev &&
      std::memcmp(known->handle.data(), handle, known->handle.size()) == 0) {
    known->in_call.store(true, kRelaxed);
    return {known, false, nullptr};
  }
  state::Identity about;
  about.dev = dev;
  about.dir = state::Direction::kSend;
  Connection* const begun = state::open_connection(state::ConnectionKind::kSend, api, about, ctx);
  if (begun == nullptr) {
    by_key_.erase(place);
    return {nullptr, false, known};
  }
  place->second = {begun};
  begun->in_call.store(true, kRelaxed);
  return {begun, true, known};
} catch (...) {
  return {};
}

Attempts::Entered Attempts::enter(Connection& listener) noexcept try {
  const std::lock_guard guard(lock_);
  const auto place = by_key_.try_emplace(&listener).first;
  Known& known = place->second;
  const bool begins = known.attempt == nullptr;
  if (begins) {
    state::Identity about = listener.about;
    about.dir = state::Direction::kRecv;
    known.attempt =
        state::open_connection(state::ConnectionKind::kRecv, listener.api, about, listener.ctx);
  }
  Connection* const attempt = known.attempt;
  if (attempt == nullptr)
    by_key_.erase(place);
  else
    attempt->in_call.store(true, kRelaxed);
  return {attempt, begins && attempt != nullptr, nullptr};
} catch (...) {
  return {};
}

void Attempts::leave(Connection& attempt, const void* handle) noexcept {
  std::memcpy(attempt.handle.data(), handle, attempt.handle.size());
}

void Attempts::drop(const void* key, const Connection& attempt) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end() && found->second.attempt == &attempt) by_key_.erase(found);
}

Connection* Attempts::take(const Connection& listener) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = by_key_.find(&listener);
  if (found == by_key_.end()) return nullptr;
  Connection* const attempt = found->second.attempt;
  by_key_.erase(found);
  return attempt;
}

std::vector<Connection*> Attempts::take_all(void* ctx) {
  std::vector<Connection*> taken;
  const std::lock_guard guard(lock_);
  taken.reserve(by_key_.size());
  for (auto i = by_key_.begin(); i != by_key_.end();) {
    if (i->second.attempt->ctx == ctx) {
      taken.push_back(i->second.attempt);
      i = by_key_.erase(i);
    } else {
      ++i;
    }
  }
  return taken;
}

std::vector<Attempts::GivenUp> Attempts::take_given_up(std::uint64_t mono_ns) {
  std::vector<GivenUp> taken;
  const std::lock_guard guard(lock_);
  const std::uint64_t before = std::exchange(last_look_ns_, mono_ns);
  if (before == 0 || mono_ns <= before) return taken;
  const std::uint64_t passed = std::min(mono_ns - before, kLongestBetweenLooksNs);
  const bool busy = std::any_of(by_key_.begin(), by_key_.end(), [](const auto& one) {
    return one.second.attempt->in_call.load(kRelaxed);
  });
  for (auto i = by_key_.begin(); i != by_key_.end();) {
    Known& known = i->second;
    const std::uint64_t polls = known.attempt->polls.load(kRelaxed);
    if (polls != known.polls)
      known.unpolled_ns = 0;
    else if (!busy)
      known.unpolled_ns += passed;
    known.polls = polls;
    if (known.unpolled_ns < kGivenUpNs) {
      ++i;
      continue;
    }
    taken.push_back({known.attempt, known.unpolled_ns});
    i = by_key_.erase(i);
  }
  return taken;
}

std::size_t Attempts::size() {
  const std::lock_guard guard(lock_);
  return by_key_.size();
}

void Attempts::forget() noexcept {
  const std::lock_guard guard(lock_);
  by_key_.clear();
}

}  // namespace nnd::net
