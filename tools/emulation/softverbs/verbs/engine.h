// The process's engine: one thread, woken by an eventfd and by its sockets, that carries out what
// is posted and answers what arrives. Made by the first ibv_open_device, never destroyed; after a
// fork the child starts over.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "softverbs/control.h"
#include "softverbs/verbs/objects.h"
#include "softverbs/verbs/rendezvous.h"

namespace softverbs {

using Clock = std::chrono::steady_clock;

class Faults;

// Something with a file descriptor in the engine's epoll set.
class Pollable {
 public:
  virtual ~Pollable() = default;
  virtual void on_ready(std::uint32_t epoll_events) = 0;
};

class Engine {
 public:
  // Holds the engine still: for set-up calls, which change what the engine works on.
  class Hold {
   public:
    explicit Hold(Engine& engine);

   private:
    std::unique_lock<std::mutex> main_;
  };

  // The engine of this process. Throws std::exception when it can't be set up.
  static Engine& get();

  // A QP has something to do. Callable from any thread, without a lock.
  void queue(Qp& qp) noexcept;

  // The rest under a Hold, or on the engine's own thread.
  std::uint32_t add_qp(Qp& qp);
  void remove_qp(Qp& qp);
  Qp* find_qp(std::uint32_t number) const;
  void qp_state_changed(Qp& qp);  // attaches or drops connections

  Mr* find_mr(std::uint32_t key) const;
  void add_mr(Mr& mr);
  void remove_mr(Mr& mr);

  std::uint64_t watch(int fd, std::uint32_t epoll_events, Pollable& who);
  void rewatch(int fd, std::uint64_t id, std::uint32_t epoll_events);
  void unwatch(int fd, std::uint64_t id);

  void wake_at(Qp& qp) { timed_.insert(&qp); }  // its requester has a time to keep

  bool joined(const Qp& qp) const { return links_.joined(qp.local, qp.peer); }
  const LinkState& links() const { return links_; }
  Rendezvous& rendezvous() { return rendezvous_; }
  Control& control() { return control_; }
  Faults& faults() { return *faults_; }

  void add_context(Context& context) { contexts_.insert(&context); }
  void remove_context(Context& context) { contexts_.erase(&context); }

  void drop(Responder* responder);  // it lives on until the end of the engine's turn

 private:
  Engine();
  ~Engine() = delete;
  static void before_fork();
  static void after_fork_parent();
  static void after_fork_child();

  void run();
  int next_timeout() const;
  void accept_all();
  void keep_times();
  void work_queue();
  void follow_control();
  void apply(const ControlCommand& command);
  void wake_up() noexcept;

  std::mutex gate_;  // taken before main_, so that set-up calls get their turn with a busy engine
  std::mutex main_;
  int epoll_ = -1;
  int wake_ = -1;
  std::atomic<bool> sleeping_{false};
  std::atomic<Qp*> queued_{nullptr};

  Rendezvous rendezvous_;
  Control control_;
  ControlReader control_reader_;
  std::unique_ptr<Faults> faults_;
  LinkState links_;
  std::unordered_map<std::uint64_t, Pollable*> watched_;
  std::unordered_map<std::uint64_t, int> watched_fds_;
  std::uint64_t next_watch_ = 16;
  std::unordered_map<std::uint32_t, Qp*> qps_;
  std::uint32_t next_qp_ = 1;
  std::unordered_map<std::uint32_t, Mr*> mrs_;
  std::uint32_t next_mr_ = 1;
  std::set<Qp*> timed_;
  std::set<Context*> contexts_;
  std::unordered_map<Responder*, std::unique_ptr<Responder>> responders_;
  std::vector<std::unique_ptr<Responder>> dropped_;
};

}  // namespace softverbs
