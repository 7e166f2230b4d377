// A mutex that a fork leaves usable in the child. Frameworks fork in the middle of traffic (data
// loaders), and the child, which has only the thread that forked, may still finalize NCCL or run
// its exit handlers: a lock that another thread held would never be given up there.
//
// fork() waits until it has all of these locks, a second at most, so that what they guard is whole
// in the child. One that is held for longer, or by the forking thread itself, is made anew in the
// child; what it guards may then be half written there.
#pragma once

#include <pthread.h>

#include <atomic>

namespace nnd::context {

// For objects that live as long as the process, since fork() visits them. Use it with
// std::lock_guard.
class ForkMutex {
 public:
  // held_long: around calls into NCCL. fork() doesn't wait for it.
  explicit ForkMutex(bool held_long = false) noexcept;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() noexcept {
    ::pthread_mutex_lock(&mutex_);
    owner_.store(::pthread_self(), std::memory_order_relaxed);
  }
  void unlock() noexcept {
    owner_.store(pthread_t{}, std::memory_order_relaxed);
    ::pthread_mutex_unlock(&mutex_);
  }

 private:
  friend struct Forks;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<pthread_t> owner_{};
  ForkMutex* next_ = nullptr;
  bool held_long_;
  bool held_by_fork_ = false;
};

// Called in the child after its locks are in order, oldest first; naming one again changes nothing.
// At most eight in all.
void in_forked_child(void (*call)()) noexcept;

}  // namespace nnd::context
