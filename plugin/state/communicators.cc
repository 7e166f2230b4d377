#include "state/communicators.h"

#include <mutex>
#include <new>

#include "context/fork_mutex.h"
#include "context/immortal.h"

namespace nnd::state {

constinit CommunicatorTable g_communicators{};

namespace {

// Places that were made, whoever uses them now. Never freed: a late reader may be inside.
struct Places {
  context::ForkMutex lock;
  std::array<Communicator*, kCommunicators> made{};
  std::atomic<std::uint64_t> not_kept{0};
};

Places& places() {
  static context::Immortal<Places> instance;
  return *instance;
}

}  // namespace

Communicator* open_communicator() noexcept {
  Places& all = places();
  const std::lock_guard guard(all.lock);
  for (std::size_t index = 0; index < kCommunicators; ++index) {
    if (communicator_at(index) != nullptr) continue;
    Communicator*& place = all.made[index];
    if (place != nullptr)
      place->~Communicator();
    else
      place = static_cast<Communicator*>(
          ::operator new(sizeof(Communicator), std::align_val_t(64), std::nothrow));
    if (place == nullptr) break;
    new (place) Communicator;
    place->membership.set({});
    place->index = static_cast<std::uint32_t>(index);
    g_communicators[index].store(place, std::memory_order_release);
    return place;
  }
  all.not_kept.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void release_communicator(Communicator& communicator) noexcept {
  g_communicators[communicator.index].store(nullptr, std::memory_order_release);
}

std::uint64_t communicators_not_kept() noexcept {
  return places().not_kept.load(std::memory_order_relaxed);
}

void forget_communicators() noexcept {
  for (auto& place : g_communicators) place.store(nullptr, std::memory_order_release);
  places().not_kept.store(0, std::memory_order_relaxed);
}

}  // namespace nnd::state
