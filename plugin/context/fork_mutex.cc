#include "context/fork_mutex.h"

#include <time.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace nnd::context {

namespace {

// None of these locks is held for as long, but its holder may have to wait for a processor.
constexpr long kPatienceNs = 1'000'000'000;
constexpr long kAMomentNs = 1'000'000;  // for one lock while others are held

timespec from_now(long ns) {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += ns;
  time.tv_sec += time.tv_nsec / 1'000'000'000;
  time.tv_nsec %= 1'000'000'000;
  return time;
}

bool is_over(const timespec& deadline) {
  const timespec now = from_now(0);
  return now.tv_sec != deadline.tv_sec ? now.tv_sec > deadline.tv_sec
                                       : now.tv_nsec >= deadline.tv_nsec;
}

constinit std::atomic<ForkMutex*> g_first{nullptr};
constinit std::array<std::atomic<void (*)()>, 8> g_calls{};
pthread_mutex_t g_forking = PTHREAD_MUTEX_INITIALIZER;  // one fork at a time

}  // namespace

struct Forks {
  // False: another thread has it, and will give it up soon.
  static bool take(ForkMutex& lock, const timespec& until) noexcept {
    const bool never = lock.held_long_ || lock.owner_.load() == ::pthread_self();
    lock.held_by_fork_ = (never ? ::pthread_mutex_trylock(&lock.mutex_)
                                : ::pthread_mutex_timedlock(&lock.mutex_, &until)) == 0;
    return lock.held_by_fork_ || never;
  }

  // The awaited one first, with none in hand. Returns one that another thread has, if any.
  static ForkMutex* take_all(ForkMutex* awaited, const timespec& deadline) noexcept {
    if (awaited != nullptr) take(*awaited, deadline);
    ForkMutex* busy = nullptr;
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_)
      if (!lock->held_by_fork_ && !take(*lock, from_now(kAMomentNs))) busy = lock;
    return busy;
  }

  // A lock that came meanwhile is in neither state.
  static void give_back() noexcept {
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_)
      if (lock->held_by_fork_) {
        lock->held_by_fork_ = false;
        lock->unlock();
      }
  }

  // Whoever has one of them may be waiting for another: so all are given back, and that one is
  // waited for with none in hand. Taken again at once they would be gone before the other, who has
  // to be woken first, could have them.
  static void prepare() noexcept {
    ::pthread_mutex_lock(&g_forking);
    const timespec deadline = from_now(kPatienceNs);
    ForkMutex* busy = take_all(nullptr, deadline);
    while (busy != nullptr && !is_over(deadline)) {
      give_back();
      busy = take_all(busy, deadline);
    }
  }
  static void parent() noexcept {
    give_back();
    ::pthread_mutex_unlock(&g_forking);
  }
  // What fork() has is the child's too, to be unlocked; what it could not get is made anew.
  static void child() noexcept {
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_) {
      if (lock->held_by_fork_) continue;
      lock->owner_.store(pthread_t{});
      lock->mutex_ = PTHREAD_MUTEX_INITIALIZER;
    }
    parent();
    for (const auto& call : g_calls)
      if (auto* const f = call.load()) f();
  }

  static void watch() noexcept {
    static constinit std::atomic<bool> watching{false};
    if (!watching.exchange(true)) ::pthread_atfork(prepare, parent, child);
  }

  static void add(ForkMutex& lock) noexcept {
    watch();
    lock.next_ = g_first.load();
    while (!g_first.compare_exchange_weak(lock.next_, &lock)) {
    }
  }
};

ForkMutex::ForkMutex(bool held_long) noexcept : held_long_(held_long) { Forks::add(*this); }

void in_forked_child(void (*call)()) noexcept {
  Forks::watch();
  for (auto& place : g_calls) {
    void (*none)() = nullptr;
    if (place.compare_exchange_strong(none, call) || none == call) return;
  }
}

}  // namespace nnd::context
