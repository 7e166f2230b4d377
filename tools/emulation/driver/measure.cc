#include "driver/measure.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "driver/error.h"
#include "driver/memory.h"
#include "driver/pattern.h"

namespace nnd::driver {

using nlohmann::json;

namespace {

constexpr std::size_t kEndSize = 1;  // of the message that ends it
constexpr int kTag = 9;
constexpr std::uint64_t kSeed = 0x70696e67;

// How long a step polls before the rank looks for requests again.
constexpr auto kSlice = std::chrono::milliseconds(20);

std::size_t pages(std::size_t size) { return (size + kPage - 1) / kPage * kPage; }

// Polls in slices until advance() has a result. After a failed call nothing more is called.
class PollingTask : public Task {
 public:
  PollingTask(Session& session, const json& request)
      : Task(request.value("deadline_ms", 20000)), session_(session) {}

  std::optional<json> step() final {
    const auto slice_end = Clock::now() + kSlice;
    do {
      if (auto result = advance()) return finish(std::move(*result));
      if (idle_) sched_yield();
    } while (Clock::now() < slice_end);
    if (!late()) return std::nullopt;
    return finish({{"rc", 0}, {"timeout", true}, {"stage", stage_}});
  }

 protected:
  virtual std::optional<json> advance() = 0;

  struct Buffer {
    void* comm;
    std::byte* data;
    void* mhandle = nullptr;
  };

  bool register_buffer(Buffer& buffer, std::size_t size) {
    if (buffer.mhandle != nullptr) return true;
    if (!fine(net().reg_mr(buffer.comm, buffer.data, size, nccl_abi::kPtrHost, &buffer.mhandle),
              "regMr"))
      return false;
    registered_.push_back(buffer);
    return true;
  }

  // A request in flight: null while there is none.
  bool post_send(Buffer& buffer, std::byte* data, std::size_t size, void** request) {
    return fine(net().isend(buffer.comm, data, size, kTag, buffer.mhandle, request), "isend");
  }
  bool post_recv(Buffer& buffer, std::byte* data, std::size_t size, void** request) {
    void* places[] = {data};
    int tags[] = {kTag};
    return fine(net().irecv(buffer.comm, 1, places, &size, tags, &buffer.mhandle, request),
                "irecv");
  }
  // done: the request is over, with the size that was told.
  bool test(void*& request, bool* done, int* size) {
    int is_done = 0;
    if (!fine(net().test(request, &is_done, size), "test")) return false;
    *done = is_done != 0;
    if (*done) {
      request = nullptr;
      got_on();
    }
    idle_ = !*done;
    return true;
  }

  // False: the call failed, and failure() says so.
  bool fine(int rc, const char* stage) {
    stage_ = stage;
    if (rc != 0) rc_ = rc;
    return rc == 0;
  }
  json failure() const { return {{"rc", rc_}, {"stage", stage_}}; }
  static json corrupt(const std::string& how) { return {{"rc", 0}, {"corrupt", how}}; }

  NetApi& net() { return session_.net(); }

 private:
  json finish(json result) {
    if (rc_ == 0)
      for (auto& buffer : registered_) net().dereg_mr(buffer.comm, buffer.mhandle);
    return result;
  }

  Session& session_;
  int rc_ = 0;
  const char* stage_ = "regMr";
  bool idle_ = false;
  std::vector<Buffer> registered_;
};

class PingPong final : public PollingTask {
 public:
  PingPong(Session& session, const json& request)
      : PollingTask(session, request),
        first_(request.at("first")),
        size_(request.at("size")),
        most_(request.at("most")),
        ms_(request.at("ms")),
        memory_(2 * pages(request.at("size"))),
        out_{session.connection(request.at("send")).comm, memory_.data()},
        in_{session.connection(request.at("recv")).comm, memory_.data() + pages(size_)} {
    if (size_ <= kEndSize || most_ == 0) throw Error("pingpong: size and most are too small");
    samples_.reserve(most_);
  }

 private:
  std::optional<json> advance() override {
    if (!register_buffer(out_, pages(size_)) || !register_buffer(in_, pages(size_)))
      return failure();
    if (!receiving_ && !received_) {
      if (!post_recv(in_, in_.data, size_, &receive_)) return failure();
      receiving_ = receive_ != nullptr;
      if (!receiving_) return std::nullopt;
    }
    return first_ ? advance_first() : advance_second();
  }

  std::optional<json> advance_first() {
    if (!began_) {
      last_ = samples_.size() + 1 >= most_ || Clock::now() - start_ >= ms_;
      fill_pattern({out_.data, size_}, kSeed, samples_.size());
      began_ = true;
      sent_at_ = Clock::now();
    }
    if (!progress_send(last_ ? kEndSize : size_) || !progress_receive()) return failure();
    if (!sent_ || !received_) return std::nullopt;
    const auto half = (received_at_ - sent_at_) / 2;
    const std::size_t length = last_ ? kEndSize : size_;
    if (length_ != static_cast<int>(length) ||
        find_mismatch({in_.data, length}, kSeed, samples_.size()))
      return corrupt("message " + std::to_string(samples_.size()) + " came back different");
    samples_.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(half).count());
    began_ = sent_ = received_ = receiving_ = false;
    return last_ ? std::optional(result()) : std::nullopt;
  }

  // The next receive is posted before the answer goes out, or the peer would wait for it.
  std::optional<json> advance_second() {
    if (!began_) {
      if (!progress_receive()) return failure();
      if (!received_) return std::nullopt;
      length_out_ = static_cast<std::size_t>(length_);
      if (length_out_ != kEndSize && length_out_ != size_)
        return corrupt("a message of " + std::to_string(size_) + " bytes came as " +
                       std::to_string(length_));
      std::memcpy(out_.data, in_.data, length_out_);
      began_ = true;
      receiving_ = false;
      received_ = length_out_ == kEndSize;
      return std::nullopt;
    }
    if (!progress_send(length_out_)) return failure();
    if (!sent_) return std::nullopt;
    began_ = sent_ = false;
    return length_out_ == kEndSize ? std::optional(json{{"rc", 0}}) : std::nullopt;
  }

  bool progress_send(std::size_t size) {
    if (sent_) return true;
    if (send_ == nullptr) return post_send(out_, out_.data, size, &send_);
    return test(send_, &sent_, nullptr);
  }

  bool progress_receive() {
    if (received_) return true;
    if (!test(receive_, &received_, &length_)) return false;
    if (received_) received_at_ = Clock::now();
    return true;
  }

  json result() {
    std::sort(samples_.begin(), samples_.end());
    const auto at = [this](double share) {
      return samples_[static_cast<std::size_t>(share * static_cast<double>(samples_.size() - 1))];
    };
    return {{"rc", 0},
            {"samples", samples_.size()},
            {"p50_ns", at(0.5)},
            {"p99_ns", at(0.99)},
            {"min_ns", samples_.front()}};
  }

  const bool first_;
  const std::size_t size_, most_;
  const std::chrono::milliseconds ms_;
  Memory memory_;
  Buffer out_, in_;
  void *send_ = nullptr, *receive_ = nullptr;
  bool receiving_ = false, received_ = false, began_ = false, sent_ = false, last_ = false;
  int length_ = 0;
  std::size_t length_out_ = 0;
  Clock::time_point sent_at_, received_at_;
  std::vector<std::int64_t> samples_;
};

// Place i of the window always holds the same data, so the last of each can be verified.
class Stream final : public PollingTask {
 public:
  Stream(Session& session, const json& request)
      : PollingTask(session, request),
        send_(session.connection(request.at("conn")).send),
        size_(request.at("size")),
        window_(request.at("window")),
        ms_(request.at("ms")),
        stride_(pages(size_)),
        memory_(stride_ * window_),
        buffer_{session.connection(request.at("conn")).comm, memory_.data()} {
    if (size_ <= kEndSize || window_ == 0) throw Error("stream: size and window are too small");
    for (std::size_t i = 0; i < window_; ++i) {
      const std::span<std::byte> place(at(i), size_);
      if (send_)
        fill_pattern(place, kSeed, i);
      else
        std::fill(place.begin(), place.end(), kPoison);
    }
  }

 private:
  std::byte* at(std::size_t message) { return memory_.data() + stride_ * (message % window_); }

  std::optional<json> advance() override {
    if (!register_buffer(buffer_, memory_.size())) return failure();
    return send_ ? advance_send() : advance_recv();
  }

  std::optional<json> advance_send() {
    if (flying_.size() < window_ && ends_ < window_) {
      const bool end = posted_ >= window_ && Clock::now() - began_ >= ms_;
      void* request = nullptr;
      if (!post_send(buffer_, at(posted_), end || ends_ > 0 ? kEndSize : size_, &request))
        return failure();
      if (request != nullptr) {
        if (posted_ == 0) began_ = Clock::now();
        ++posted_;
        if (end || ends_ > 0) ++ends_;
        flying_.push_back(request);
      }
    }
    bool done = false;
    if (!flying_.empty() && !test(flying_.front(), &done, nullptr)) return failure();
    if (!done) return std::nullopt;
    flying_.pop_front();
    ++finished_;
    if (ends_ == 0 || finished_ <= posted_ - ends_) full_end_ = Clock::now();
    if (ends_ < window_ || !flying_.empty()) return std::nullopt;
    const auto full = posted_ - ends_;
    return json{{"rc", 0},
                {"messages", full},
                {"bytes", full * size_},
                {"ns", std::chrono::nanoseconds(full_end_ - began_).count()}};
  }

  // The window is kept full until the first message that ends it: then as many are left in it as
  // the sender still ends.
  std::optional<json> advance_recv() {
    while (!ending_ && posted_ < finished_ + window_) {
      void* request = nullptr;
      if (!post_recv(buffer_, at(posted_), size_, &request)) return failure();
      if (request == nullptr) return std::nullopt;
      flying_.push_back(request);
      ++posted_;
    }
    bool done = false;
    int length = 0;
    if (!test(flying_.front(), &done, &length)) return failure();
    if (!done) return std::nullopt;
    flying_.pop_front();
    const bool end = length == static_cast<int>(kEndSize);
    if ((!end && length != static_cast<int>(size_)) || (ending_ && !end))
      return corrupt("message " + std::to_string(finished_) + " of " + std::to_string(size_) +
                     " bytes came as " + std::to_string(length));
    ending_ = end;
    ++finished_;
    if (!ending_ || !flying_.empty()) return std::nullopt;
    for (std::size_t i = 0; i < window_; ++i)
      if (const auto wrong = find_mismatch({at(i), size_}, kSeed, i))
        return corrupt("a message of " + std::to_string(size_) + " bytes differs at byte " +
                       std::to_string(*wrong));
    return json{{"rc", 0}, {"messages", finished_ - window_}};
  }

  const bool send_;
  const std::size_t size_, window_;
  const std::chrono::milliseconds ms_;
  const std::size_t stride_;
  Memory memory_;
  Buffer buffer_;
  std::deque<void*> flying_;
  std::size_t posted_ = 0, finished_ = 0, ends_ = 0;
  bool ending_ = false;
  Clock::time_point began_ = Clock::now(), full_end_ = began_;
};

}  // namespace

std::unique_ptr<Task> begin_pingpong(Session& session, const json& request) {
  return std::make_unique<PingPong>(session, request);
}

std::unique_ptr<Task> begin_stream(Session& session, const json& request) {
  return std::make_unique<Stream>(session, request);
}

}  // namespace nnd::driver
