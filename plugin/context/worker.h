// A thread of ours: it has a name, a small stack, and handles no signal of the process. It runs
// from the first init on, never from load.
#pragma once

#include <pthread.h>

namespace nnd::context {

// Not thread-safe: one owner starts and joins.
class Worker {
 public:
  // name: 15 characters at most. False: no thread is to be had.
  bool start(const char* name, void* (*body)(void*), void* argument) noexcept;
  bool started() const noexcept { return started_; }
  // Waits for the body's end; does nothing where none was started.
  void join() noexcept;

 private:
  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace nnd::context
