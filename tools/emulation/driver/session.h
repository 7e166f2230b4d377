// One rank's use of a net transport: what NCCL core keeps about it and does with it. Requests and
// results are JSON objects, so that a rank can be driven from its own process or from another.
// One thread, like NCCL's proxy.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "driver/clock.h"
#include "driver/library.h"
#include "driver/trace.h"

namespace nnd::driver {

struct Connection {
  void* comm = nullptr;
  bool send = false;
  std::string object;  // its name in the trace
};

struct Listener {
  void* comm = nullptr;
  int dev = 0;
  std::string object;
};

// Something that takes several polls. step() returns the result once it is there, or at the
// deadline that it wasn't.
class Task {
 public:
  explicit Task(int deadline_ms) : deadline_(start_ + std::chrono::milliseconds(deadline_ms)) {}
  virtual ~Task() = default;
  virtual std::optional<nlohmann::json> step() = 0;

  // It has no more time than this.
  void hurry(std::chrono::milliseconds left) {
    deadline_ = std::min(deadline_, Clock::now() + left);
  }
  // When it got on last.
  Clock::time_point moved() const { return moved_; }

 protected:
  bool late() const { return Clock::now() >= deadline_; }
  void got_on() { moved_ = Clock::now(); }

  const Clock::time_point start_ = Clock::now();

 private:
  Clock::time_point deadline_, moved_ = start_;
};

class Session;

// Requests beyond a Session's own, and their results; nothing where there is no such request. Tests
// bring some.
using MoreRequests =
    std::function<std::optional<nlohmann::json>(Session&, const nlohmann::json& request)>;

class Session {
 public:
  // `prepare` is called with the dlopen handle of a libnccl that was just loaded. Either may be
  // empty.
  Session(std::function<void(void*)> prepare, MoreRequests more)
      : prepare_(std::move(prepare)), more_(std::move(more)) {}

  // Carries out a request ("op" says what), or begins a task for it (then `task` is set and the
  // result comes from its step()). Every result has "rc", the transport's return code. Throws Error
  // (or a JSON exception) for a request that cannot be carried out.
  nlohmann::json handle(const nlohmann::json& request, std::unique_ptr<Task>* task);

  NetApi& net();
  void unload();  // as NCCL does when the last communicator is gone: libnccl stays
  Trace& trace() { return trace_; }
  void* context(int id) const { return id == 0 ? nullptr : contexts_.at(id); }
  Connection& connection(int id) { return connections_.at(id); }
  int add_connection(Connection connection);
  int next_id() { return ++last_id_; }

 private:
  nlohmann::json load(const nlohmann::json& request);
  nlohmann::json init(const nlohmann::json& request);
  nlohmann::json finalize(const nlohmann::json& request);
  nlohmann::json devices();
  nlohmann::json properties(const nlohmann::json& request);
  nlohmann::json listen(const nlohmann::json& request);
  nlohmann::json close_one(const nlohmann::json& request);
  std::unique_ptr<Task> begin(const std::string& op, const nlohmann::json& request);

  std::function<void(void*)> prepare_;
  MoreRequests more_;
  std::unique_ptr<NcclLibrary> nccl_;
  std::unique_ptr<Plugin> plugin_;
  std::unique_ptr<NetApi> builtin_;
  Trace trace_;
  int last_id_ = 0;
  std::map<int, void*> contexts_;
  std::map<int, Listener> listeners_;
  std::map<int, Connection> connections_;
};

}  // namespace nnd::driver
