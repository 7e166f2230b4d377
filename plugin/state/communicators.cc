#include "state/communicators.h"

#include <sys/mman.h>

#include <cstring>
#include <mutex>
#include <new>

#include "context/fork_mutex.h"
#include "context/immortal.h"

namespace nnd::state {

constinit CommunicatorTable g_communicators{};

namespace {

struct Place {
  Communicator* communicator = nullptr;
  TaskRooms* rooms = nullptr;
};

// Zeroes, of which only what is used takes memory; null: there is none. What a place had before
// goes.
TaskRooms* make_rooms(TaskRooms* before) noexcept {
  if (before != nullptr) {
    // Not where the process has locked its memory.
    if (::madvise(before, sizeof(TaskRooms), MADV_DONTNEED) != 0)
      std::memset(static_cast<void*>(before), 0, sizeof(TaskRooms));
    return before;
  }
  void* const memory = ::mmap(nullptr, sizeof(TaskRooms), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<TaskRooms*>(memory);
}

// Places that were made, whoever uses them now. Never freed: a late reader may be inside.
struct Places {
  context::ForkMutex lock;
  std::array<Place, kCommunicators> made{};
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
    Place& place = all.made[index];
    Communicator*& communicator = place.communicator;
    place.rooms = make_rooms(place.rooms);
    if (place.rooms == nullptr) break;
    if (communicator != nullptr)
      communicator->~Communicator();
    else
      communicator = static_cast<Communicator*>(
          ::operator new(sizeof(Communicator), std::align_val_t(64), std::nothrow));
    if (communicator == nullptr) break;
    new (communicator) Communicator(*place.rooms);
    communicator->membership.set({});
    communicator->index = static_cast<std::uint32_t>(index);
    g_communicators[index].store(communicator, std::memory_order_release);
    return communicator;
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
