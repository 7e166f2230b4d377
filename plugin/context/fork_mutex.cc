#include "context/fork_mutex.h"

#include <time.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace nnd::context {

namespace {

constexpr long kPatienceNs = 20'000'000;  // far longer than any of these locks is held

constinit std::atomic<ForkMutex*> g_first{nullptr};
constinit std::array<std::atomic<void (*)()>, 4> g_calls{};

}  // namespace

struct Forks {
  static bool take(ForkMutex& lock) noexcept {
    if (::pthread_mutex_trylock(&lock.mutex_) == 0) return true;
    if (lock.held_long_) return false;
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += kPatienceNs;
    if (until.tv_nsec >= 1'000'000'000) {
      until.tv_nsec -= 1'000'000'000;
      ++until.tv_sec;
    }
    return ::pthread_mutex_timedlock(&lock.mutex_, &until) == 0;
  }

  static void prepare() noexcept {
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_)
      lock->held_by_fork_ = take(*lock);
  }
  // A lock that came meanwhile is in neither state.
  static void parent() noexcept {
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_)
      if (lock->held_by_fork_) {
        lock->held_by_fork_ = false;
        lock->unlock();
      }
  }
  static void child() noexcept {
    for (ForkMutex* lock = g_first.load(); lock != nullptr; lock = lock->next_) {
      lock->held_by_fork_ = false;
      lock->mutex_ = PTHREAD_MUTEX_INITIALIZER;
    }
    for (const auto& call : g_calls)
      if (auto* const f = call.load()) f();
  }

  static void add(ForkMutex& lock) noexcept {
    static constinit std::atomic<bool> watching{false};
    if (!watching.exchange(true)) ::pthread_atfork(prepare, parent, child);
    lock.next_ = g_first.load();
    while (!g_first.compare_exchange_weak(lock.next_, &lock)) {
    }
  }
};

ForkMutex::ForkMutex(bool held_long) noexcept : held_long_(held_long) { Forks::add(*this); }

void in_forked_child(void (*call)()) noexcept {
  for (auto& place : g_calls) {
    void (*none)() = nullptr;
    if (place.compare_exchange_strong(none, call)) return;
  }
}

}  // namespace nnd::context
