#include "context/fork_mutex.h"

#include <sched.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace nnd::context {

namespace {

// None of these locks is held for as long, but its holder may have to wait for a processor.
constexpr long kPatienceNs = 1'000'000'000;
constexpr long kAtOnceNs = 250'000'000;  // for one lock while others are held

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
constinit std::array<std::atomic<void (*)()>, 4> g_calls{};
pthread_mutex_t g_forking = PTHREAD_MUTEX_INITIALIZER;  // one fork at a time

}  // namespace

struct Forks {
  // False: another thread has it, and will give it up soon.
  static bool take(ForkMutex& lock) noexcept {
    const bool never = lock.held_long_ || lock.owner_.load() == ::pthread_self();
    const timespec until = from_now(kAtOnceNs);
    lock.held_by_fork_ = (never ? ::pthread_mutex_trylock(&lock.mutex_)
                                : ::pthread_mutex_timedlock(&lock.mutex_, &until)) == 0;
    return lock.held_by_fork_ || never;
  }

  static bool take_all() noexcept {
    bool all = true;
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_)
      all = take(*lock) && all;
    return all;
  }

  // A lock that came meanwhile is in neither state.
  static void give_back() noexcept {
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_)
      if (lock->held_by_fork_) {
        lock->held_by_fork_ = false;
        lock->unlock();
      }
  }

  // Whoever has one of them may be waiting for another: so all are given back in between.
  static void prepare() noexcept {
    ::pthread_mutex_lock(&g_forking);
    const timespec deadline = from_now(kPatienceNs);
    while (!take_all() && !is_over(deadline)) {
      give_back();
      ::sched_yield();
    }
  }
  static void parent() noexcept {
    give_back();
    ::pthread_mutex_unlock(&g_forking);
  }
  static void child() noexcept {
    g_forking = PTHREAD_MUTEX_INITIALIZER;
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_) {
      lock->held_by_fork_ = false;
      lock->owner_.store(pthread_t{});
      lock->mutex_ = PTHREAD_MUTEX_INITIALIZER;
    }
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
