#include "driver/transfer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <utility>

#include "driver/error.h"
#include "driver/memory.h"
#include "driver/pattern.h"

namespace nnd::driver {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxGroup = 8;

struct Plan {
  explicit Plan(const json& request)
      : sizes(request.at("sizes").get<std::vector<std::size_t>>()),
        messages(sizes.size() * request.value("repeat", std::size_t{1})),
        seed(request.value("seed", std::uint64_t{1})),
        window(request.value("window", std::size_t{8})),
        offset(request.value("offset", std::size_t{0})),
        tag(request.value("tag", 7)),
        type(request.value("type", nccl_abi::kPtrHost)),
        group(request.value("group", std::size_t{1})),
        optional(request.value("optional", false)),
        flush(request.value("flush", false)),
        asks(request.value("asks", true)) {
    if (sizes.empty() || group == 0 || group > kMaxGroup || window == 0 || messages % group != 0)
      throw Error("send, recv: sizes, window and group do not fit together");
    capacity = request.value("capacity", *std::max_element(sizes.begin(), sizes.end()));
  }

  std::size_t size(std::size_t message) const { return sizes[message % sizes.size()]; }
  // Messages of a group are told apart by their tags.
  int tag_of(std::size_t message) const { return tag + static_cast<int>(message % group); }

  std::vector<std::size_t> sizes;
  std::size_t messages;
  std::uint64_t seed;
  std::size_t window;  // receives in flight; the sender has a request per message of their groups
  std::size_t offset;
  int tag;
  int type;
  std::size_t group;
  bool optional;
  bool flush;
  bool asks;
  std::size_t capacity = 0;
};

class TransferTask : public Task {
 public:
  TransferTask(Session& session, const json& request)
      : Task(request.value("deadline_ms", 20000)),
        plan_(request),
        session_(session),
        conn_(session.connection(request.at("conn"))),
        stride_((plan_.offset + plan_.capacity + 2 * kPage - 1) / kPage * kPage),
        memory_(stride_ * plan_.window * plan_.group) {}

  std::optional<json> step() final {
    if (mhandle_ == nullptr) {
      const int rc =
          net().reg_mr(conn_.comm, memory_.data(), memory_.size(), plan_.type, &mhandle_);
      session_.trace().add(conn_.object, "regMr", rc, {{"size", memory_.size()}});
      if (rc != 0) return failed(rc, "regMr", 0);
    }
    const auto before = std::pair(posted_, finished_);
    if (auto result = advance()) return finish(std::move(*result));
    if (finished_ == plan_.messages) return finish(result(0));
    if (std::pair(posted_, finished_) != before) got_on();
    if (!late()) return std::nullopt;
    auto late = result(0);
    late["timeout"] = true;
    late["message"] = finished_;
    return finish(std::move(late));
  }

 protected:
  // Posts what can be posted and tests what is in flight; a value ends the transfer.
  virtual std::optional<json> advance() = 0;

  NetApi& net() { return session_.net(); }

  // Where a message lies while it is in flight.
  std::byte* slot(std::size_t message) {
    return memory_.data() + stride_ * (message % (plan_.window * plan_.group)) + plan_.offset;
  }
  std::size_t slot_size() const { return stride_ - plan_.offset; }

  json result(int rc) const {
    return {{"rc", rc},
            {"bytes", bytes_},
            {"messages", finished_},
            {"ns", std::chrono::nanoseconds(Clock::now() - start_).count()},
            {"retries", retries_}};
  }

  json failed(int rc, const char* stage, std::size_t message) {
    auto out = result(rc);
    out["stage"] = stage;
    out["message"] = message;
    return out;
  }

  Plan plan_;
  Session& session_;
  Connection conn_;
  std::size_t stride_;
  Memory memory_;
  void* mhandle_ = nullptr;
  std::size_t posted_ = 0, finished_ = 0;
  std::uint64_t bytes_ = 0, retries_ = 0;

 private:
  json finish(json out) {
    if (mhandle_ == nullptr) return out;
    const int rc = net().dereg_mr(conn_.comm, mhandle_);
    session_.trace().add(conn_.object, "deregMr", rc);
    return out;
  }
};

struct InFlight {
  void* request;
  std::size_t first;  // message
  std::uint64_t polls = 0;
  bool flushing = false;
  std::array<int, kMaxGroup> sizes{};  // as told when a receive was done
};

class SendTask final : public TransferTask {
 public:
  using TransferTask::TransferTask;

 private:
  std::optional<json> advance() override {
    // All messages of a group must be under way for one to be done.
    if (posted_ < plan_.messages && flying_.size() < plan_.window * plan_.group) {
      if (!filled_) fill_pattern({slot(posted_), plan_.size(posted_)}, plan_.seed, posted_);
      filled_ = true;
      void* request = nullptr;
      const int rc = net().isend(conn_.comm, slot(posted_), plan_.size(posted_),
                                 plan_.tag_of(posted_), mhandle_, &request);
      if (rc != 0 || request != nullptr)
        session_.trace().add(conn_.object, "isend", rc, {{"size", plan_.size(posted_)}}, waits_);
      if (rc != 0) return failed(rc, "isend", posted_);
      if (request != nullptr) {
        flying_.push_back({request, posted_++});
        filled_ = false;
        waits_ = 0;
      } else {
        ++retries_, ++waits_;
      }
    }
    while (plan_.asks && !flying_.empty()) {
      auto& oldest = flying_.front();
      int done = 0, size = -1;
      const int rc = net().test(oldest.request, &done, &size);
      if (rc == 0 && done == 0) {
        ++oldest.polls;
        break;
      }
      session_.trace().add(conn_.object, "test", rc, {{"done", done}, {"size", size}},
                           oldest.polls);
      if (rc != 0) return failed(rc, "test", oldest.first);
      bytes_ += plan_.size(oldest.first);
      ++finished_;
      flying_.pop_front();
    }
    return std::nullopt;
  }

  std::deque<InFlight> flying_;
  bool filled_ = false;
  std::uint64_t waits_ = 0;
};

class RecvTask final : public TransferTask {
 public:
  using TransferTask::TransferTask;

 private:
  std::optional<json> advance() override {
    if (posted_ < plan_.messages && flying_.size() < plan_.window)
      if (auto result = post()) return result;
    while (plan_.asks && !flying_.empty()) {
      auto& oldest = flying_.front();
      int done = 0;
      const int rc =
          net().test(oldest.request, &done, oldest.flushing ? nullptr : oldest.sizes.data());
      if (rc == 0 && done == 0) {
        ++oldest.polls;
        break;
      }
      json detail{{"done", done}};
      if (!oldest.flushing && !plan_.optional)
        detail["sizes"] =
            std::vector<int>(oldest.sizes.begin(), oldest.sizes.begin() + group_size());
      session_.trace().add(conn_.object, oldest.flushing ? "test (flush)" : "test", rc, detail,
                           oldest.polls);
      if (rc != 0) return failed(rc, oldest.flushing ? "test (flush)" : "test", oldest.first);
      if (plan_.flush && !oldest.flushing) {
        if (auto result = flush(oldest)) return result;
        if (oldest.flushing) continue;
      }
      if (auto result = verify(oldest)) return result;
      flying_.pop_front();
    }
    return std::nullopt;
  }

  int group_size() const { return static_cast<int>(plan_.group); }

  std::optional<json> post() {
    std::array<void*, kMaxGroup> data{}, mhandles{};
    std::array<std::size_t, kMaxGroup> sizes{};
    std::array<int, kMaxGroup> tags{};
    for (std::size_t i = 0; i < plan_.group; ++i) {
      data[i] = slot(posted_ + i);
      if (!poisoned_) std::fill_n(slot(posted_ + i), slot_size(), kPoison);
      sizes[i] = plan_.capacity;
      tags[i] = plan_.tag_of(posted_ + i);
      mhandles[i] = mhandle_;
    }
    poisoned_ = true;
    // NCCL says so from net v9 (v2.24.3-1 src/transport/net.cc).
    const bool optional = plan_.optional && net().version() >= 9;
    void* request = optional ? reinterpret_cast<void*>(nccl_abi::kOptionalRecvCompletion) : nullptr;
    const int rc = net().irecv(conn_.comm, group_size(), data.data(), sizes.data(), tags.data(),
                               mhandles.data(), &request);
    if (rc != 0 || request != nullptr)
      session_.trace().add(conn_.object, "irecv", rc,
                           {{"n", plan_.group}, {"capacity", plan_.capacity}}, waits_);
    if (rc != 0) return failed(rc, "irecv", posted_);
    if (request == nullptr) {
      ++retries_, ++waits_;
      return std::nullopt;
    }
    flying_.push_back({request, posted_});
    posted_ += plan_.group;
    poisoned_ = false;
    waits_ = 0;
    return std::nullopt;
  }

  // What NCCL does before a GPU may read received data; the transport may have nothing to do.
  std::optional<json> flush(InFlight& received) {
    std::array<void*, kMaxGroup> data{}, mhandles{};
    for (std::size_t i = 0; i < plan_.group; ++i) {
      data[i] = slot(received.first + i);
      mhandles[i] = mhandle_;
    }
    void* request = nullptr;
    const int rc = net().iflush(conn_.comm, group_size(), data.data(), received.sizes.data(),
                                mhandles.data(), &request);
    session_.trace().add(conn_.object, "iflush", rc, {{"is_null", request == nullptr}});
    if (rc != 0) return failed(rc, "iflush", received.first);
    if (request != nullptr) {
      received.request = request;
      received.polls = 0;
      received.flushing = true;
    }
    return std::nullopt;
  }

  // The size that test tells. NCCL 2.18 says of several buffers only which of them got something
  // (v2.18.3-1 src/transport/net_ib.cc, ncclIbMultiSend).
  std::size_t told(std::size_t size) {
    const bool flags = net().version() == 6 && plan_.group > 1;
    return flags && size > 0 ? 1 : size;
  }

  std::optional<json> verify(const InFlight& received) {
    for (std::size_t i = 0; i < plan_.group; ++i) {
      const auto message = received.first + i;
      const auto expected = plan_.size(message);
      const std::span<const std::byte> all(slot(message), slot_size());
      // Where the completion is optional no size is told.
      if (!plan_.optional && static_cast<std::size_t>(received.sizes[i]) != told(expected))
        return corrupt(message, "came as " + std::to_string(received.sizes[i]) + " bytes");
      if (const auto at = find_mismatch(all.first(expected), plan_.seed, message))
        return corrupt(message, "differs at byte " + std::to_string(*at));
      if (const auto at = find_not_poison(all.subspan(expected)))
        return corrupt(message, "wrote past its end, at byte " + std::to_string(expected + *at));
      bytes_ += expected;
      ++finished_;
    }
    return std::nullopt;
  }

  json corrupt(std::size_t message, const std::string& how) {
    auto out = result(0);
    out["message"] = message;
    out["corrupt"] = "message " + std::to_string(message) + " of " +
                     std::to_string(plan_.size(message)) + " bytes " + how;
    return out;
  }

  std::deque<InFlight> flying_;
  bool poisoned_ = false;
  std::uint64_t waits_ = 0;
};

}  // namespace

std::unique_ptr<Task> begin_send(Session& session, const json& request) {
  return std::make_unique<SendTask>(session, request);
}

std::unique_ptr<Task> begin_recv(Session& session, const json& request) {
  return std::make_unique<RecvTask>(session, request);
}

}  // namespace nnd::driver
