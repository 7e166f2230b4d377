#include "net/arena.h"

#include <sys/mman.h>

#include <mutex>
#include <new>

#include "context/fork_mutex.h"

namespace nnd::net {

namespace {

// Slots are made accessible this many at a time: a private mapping that can be written counts as
// committed memory where the kernel is strict about it.
constexpr std::size_t kSlotsPerStep = 64;

struct Arena {
  context::ForkMutex lock;
  std::size_t used = 0;        // slots that were handed out at least once
  std::size_t accessible = 0;  // slots that may be touched
  Connection* free = nullptr;  // chained by next_open
  Connection* open = nullptr;  // what NCCL holds
};

Arena& arena() noexcept {
  // Never destroyed: NCCL may still close connections while the process exits.
  alignas(Arena) static char memory[sizeof(Arena)];
  static Arena* const instance = new (memory) Arena;
  return *instance;
}

bool reserve() noexcept {
  const std::size_t size = kArenaSize + kSlotSize;
  void* memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  arena_begin = (at + kSlotSize - 1) & ~(std::uintptr_t{kSlotSize} - 1);
  return true;
}

void* fresh_slot(Arena& a) noexcept {
  if (a.used == 0 && a.accessible == 0 && !reserve()) return nullptr;
  if (a.used == kArenaSlots) return nullptr;
  if (a.used == a.accessible) {
    void* const step = reinterpret_cast<void*>(arena_begin + a.accessible * kSlotSize);
    if (mprotect(step, kSlotsPerStep * kSlotSize, PROT_READ | PROT_WRITE) != 0) return nullptr;
    a.accessible += kSlotsPerStep;
  }
  return reinterpret_cast<void*>(arena_begin + a.used++ * kSlotSize);
}

void fill_pool(Connection& c) noexcept {
  Request* const requests = c.requests();
  c.free_requests = nullptr;
  for (std::size_t i = kRequestsPerConnection; i-- > 0;) {
    auto* request = new (&requests[i]) Request;
    request->next_free = c.free_requests;
    c.free_requests = request;
  }
}

}  // namespace

std::uintptr_t arena_begin = UINTPTR_MAX - kArenaSize;

Connection* acquire_connection(Kind kind) noexcept {
  Arena& a = arena();
  const std::lock_guard guard(a.lock);
  void* slot = a.free;
  if (slot != nullptr)
    a.free = a.free->next_open;
  else
    slot = fresh_slot(a);
  if (slot == nullptr) return nullptr;
  auto* c = new (slot) Connection;
  c->kind = kind;
  if (kind != Kind::kListen) fill_pool(*c);
  c->next_open = a.open;
  if (a.open != nullptr) a.open->prev_open = c;
  a.open = c;
  return c;
}

void release_connection(Connection* c) noexcept {
  Arena& a = arena();
  const std::lock_guard guard(a.lock);
  (c->prev_open != nullptr ? c->prev_open->next_open : a.open) = c->next_open;
  if (c->next_open != nullptr) c->next_open->prev_open = c->prev_open;
  c->kind = Kind::kFree;
  c->inner = nullptr;
  c->next_open = a.free;
  a.free = c;
}

void for_each_connection(const std::function<void(Connection&)>& f) {
  Arena& a = arena();
  const std::lock_guard guard(a.lock);
  for (Connection* c = a.open; c != nullptr; c = c->next_open) f(*c);
}

}  // namespace nnd::net
