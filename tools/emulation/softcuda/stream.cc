#include "stream.h"

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "gpu.h"

namespace softcuda {
namespace {

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (!started_) {
      started_ = true;
      std::thread([self = shared_from_this()] { self->run(); }).detach();
    }
    changed_.notify_all();
  }

  void wait_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  }

  int gpu() const { return gpu_; }

  bool idle() {
    const std::lock_guard lock(mutex_);
    return queue_.empty() && !busy_;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  void run() {
    set_current_gpu(gpu_);
    pthread_setname_np(pthread_self(), "softcuda-stream");
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto work = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      work();
      work = nullptr;  // what it holds goes before others see the stream idle
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  const int gpu_ = current_gpu();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false, closed_ = false, started_ = false;
};

struct Streams {
  std::mutex mutex;
  std::map<StreamHandle, std::shared_ptr<Stream>> streams;
  std::map<int, std::shared_ptr<Stream>> defaults;  // by device
};

Streams& streams() {
  static auto& instance = *new Streams;  // stream threads may run while the process exits
  return instance;
}

// cudaStreamLegacy is 1, cudaStreamPerThread 2.
bool is_default(StreamHandle stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

std::shared_ptr<Stream> find(StreamHandle handle) {
  auto& all = streams();
  const std::lock_guard lock(all.mutex);
  if (is_default(handle)) {
    auto& stream = all.defaults[current_gpu()];
    if (!stream) stream = std::make_shared<Stream>();
    return stream;
  }
  const auto found = all.streams.find(handle);
  return found == all.streams.end() ? nullptr : found->second;
}

}  // namespace

StreamHandle create_stream() {
  auto stream = std::make_shared<Stream>();
  StreamHandle handle = stream.get();
  auto& all = streams();
  const std::lock_guard lock(all.mutex);
  all.streams[handle] = std::move(stream);
  return handle;
}

Error destroy_stream(StreamHandle handle) {
  std::shared_ptr<Stream> stream = is_default(handle) ? nullptr : find(handle);
  if (!stream) return kInvalidHandle;
  auto& all = streams();
  const std::lock_guard lock(all.mutex);
  all.streams.erase(handle);
  stream->close();
  return kSuccess;
}

Error enqueue(StreamHandle handle, std::function<void()> work) {
  const auto stream = find(handle);
  if (!stream) return kInvalidHandle;
  stream->push(std::move(work));
  return kSuccess;
}

Error synchronize(StreamHandle handle) {
  const auto stream = find(handle);
  if (!stream) return kInvalidHandle;
  stream->wait_idle();
  return kSuccess;
}

Error query(StreamHandle handle) {
  const auto stream = find(handle);
  if (!stream) return kInvalidHandle;
  return stream->idle() ? kSuccess : kNotReady;
}

int device_of_stream(StreamHandle handle) {
  const auto stream = is_default(handle) ? nullptr : find(handle);
  return stream ? stream->gpu() : current_gpu();
}

void synchronize_all() {
  std::vector<std::shared_ptr<Stream>> waited_for;
  {
    auto& all = streams();
    const std::lock_guard lock(all.mutex);
    for (const auto& [handle, stream] : all.streams) waited_for.push_back(stream);
    for (const auto& [gpu, stream] : all.defaults) waited_for.push_back(stream);
  }
  for (const auto& stream : waited_for) stream->wait_idle();
}

}  // namespace softcuda
