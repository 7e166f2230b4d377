#include "driver/server.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "driver/error.h"

namespace nnd::driver {

using nlohmann::json;

namespace {

constexpr int kLostParent = 3;

struct Running {
  json id;
  std::unique_ptr<Task> task;
};

// The other ranks may share this CPU: the longer nothing has moved the longer the sleep until the
// next look.
Clock::duration sleep_after(Clock::duration idle) {
  constexpr auto kLeast = std::chrono::microseconds(20), kMost = std::chrono::microseconds(1000);
  constexpr int kShare = 64;  // of the wait, which the sleeps make longer by that much
  return std::clamp<Clock::duration>(idle / kShare, kLeast, kMost);
}

class Server {
 public:
  Server(wire::JsonSocket& socket, std::function<void(void*)> prepare, MoreRequests more)
      : socket_(socket), prepare_(std::move(prepare)), more_(std::move(more)) {}

  int run() {
    while (!exit_) {
      take_requests();
      if (socket_.closed()) _exit(kLostParent);
      step_tasks();
    }
    // As a job does that never closes anything: what is loaded stays loaded.
    for (auto& [number, session] : sessions_) static_cast<void>(session.release());
    return 0;
  }

 private:
  void take_requests() {
    const auto patience = running_.empty() ? std::chrono::hours(24) : std::chrono::hours(0);
    auto deadline = Clock::now() + patience;
    while (auto request = socket_.receive(deadline)) {
      answer(*request);
      if (exit_) return;
      deadline = Clock::now();
    }
  }

  void answer(const json& request) {
    const auto id = request.value("id", json(nullptr));
    try {
      std::unique_ptr<Task> task;
      auto reply = carry_out(request, &task);
      if (task)
        running_.push_back({id, std::move(task)});
      else
        reply_to(id, std::move(reply));
    } catch (const std::exception& error) {
      reply_to(id, {{"error", error.what()}});
    }
  }

  json carry_out(const json& request, std::unique_ptr<Task>* task) {
    const auto op = request.value("op", "");
    if (op == "hurry") return hurry(request);
    if (op == "exit") {
      if (request.value("how", "return") == "_exit") _exit(0);
      exit_ = true;
      return {{"rc", 0}};
    }
    return session(request.value("session", 0)).handle(request, task);
  }

  json hurry(const json& request) {
    for (const auto& running : running_)
      if (running.id == request.at("request"))
        running.task->hurry(std::chrono::milliseconds(request.at("ms").get<int>()));
    return {{"rc", 0}};
  }

  // Each has a libnccl of its own.
  Session& session(int number) {
    auto& found = sessions_[number];
    if (!found) found = std::make_unique<Session>(prepare_, more_);
    return *found;
  }

  void step_tasks() {
    std::erase_if(running_, [this](Running& running) {
      try {
        auto result = running.task->step();
        if (!result) return false;
        reply_to(running.id, std::move(*result));
      } catch (const std::exception& error) {
        reply_to(running.id, {{"error", error.what()}});
      }
      return true;
    });
    if (running_.empty()) return;
    auto moved = Clock::time_point::min();
    for (const auto& running : running_) moved = std::max(moved, running.task->moved());
    std::this_thread::sleep_for(sleep_after(Clock::now() - moved));
  }

  void reply_to(const json& id, json reply) {
    reply["id"] = id;
    socket_.send(reply);
  }

  wire::JsonSocket& socket_;
  std::function<void(void*)> prepare_;
  MoreRequests more_;
  std::map<int, std::unique_ptr<Session>> sessions_;
  std::vector<Running> running_;
  bool exit_ = false;
};

}  // namespace

int serve(wire::JsonSocket& socket, std::function<void(void*)> prepare, MoreRequests more) {
  return Server(socket, std::move(prepare), std::move(more)).run();
}

}  // namespace nnd::driver
