#include "context/worker.h"

#include <cstddef>

#include "context/quiet_signals.h"

namespace nnd::context {

namespace {

constexpr std::size_t kStack = 256 * 1024;

}  // namespace

bool Worker::start(const char* name, void* (*body)(void*), void* argument) noexcept {
  const QuietSignals quiet;  // inherited by the thread
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setstacksize(&attributes, kStack);
  started_ = ::pthread_create(&thread_, &attributes, body, argument) == 0;
  ::pthread_attr_destroy(&attributes);
  if (started_) ::pthread_setname_np(thread_, name);
  return started_;
}

void Worker::join() noexcept {
  if (!started_) return;
  ::pthread_join(thread_, nullptr);
  started_ = false;
}

}  // namespace nnd::context
