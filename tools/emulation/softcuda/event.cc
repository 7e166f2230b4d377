#include "event.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace softcuda {
namespace {

using Clock = std::chrono::steady_clock;

class Mark {
 public:
  void pass() {
    const std::lock_guard lock(mutex_);
    when_ = Clock::now();
    passed_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return passed_; });
  }
  bool passed() {
    const std::lock_guard lock(mutex_);
    return passed_;
  }
  Clock::time_point when() {
    const std::lock_guard lock(mutex_);
    return when_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool passed_ = false;
  Clock::time_point when_;
};

struct Event {
  std::mutex mutex;
  std::shared_ptr<Mark> mark;  // null until recorded
};

std::shared_ptr<Mark> mark_of(EventHandle handle) {
  auto* event = static_cast<Event*>(handle);
  const std::lock_guard lock(event->mutex);
  return event->mark;
}

}  // namespace

EventHandle create_event() { return new Event; }
void destroy_event(EventHandle event) { delete static_cast<Event*>(event); }

Error record_event(EventHandle handle, StreamHandle stream) {
  auto mark = std::make_shared<Mark>();
  {
    auto* event = static_cast<Event*>(handle);
    const std::lock_guard lock(event->mutex);
    event->mark = mark;
  }
  return enqueue(stream, [mark] { mark->pass(); });
}

Error query_event(EventHandle event) {
  const auto mark = mark_of(event);
  return !mark || mark->passed() ? kSuccess : kNotReady;
}

Error synchronize_event(EventHandle event) {
  if (const auto mark = mark_of(event)) mark->wait();
  return kSuccess;
}

Error wait_event(StreamHandle stream, EventHandle event) {
  const auto mark = mark_of(event);
  return mark ? enqueue(stream, [mark] { mark->wait(); }) : kSuccess;
}

Error elapsed_ms(float* ms, EventHandle from, EventHandle to) {
  const auto first = mark_of(from), second = mark_of(to);
  if (!first || !second || !first->passed() || !second->passed()) return kInvalidHandle;
  *ms = std::chrono::duration<float, std::milli>(second->when() - first->when()).count();
  return kSuccess;
}

}  // namespace softcuda
