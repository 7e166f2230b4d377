#include "softverbs/verbs/engine.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "softverbs/fault_moments.h"
#include "softverbs/verbs/completion.h"
#include "softverbs/verbs/faults.h"
#include "softverbs/verbs/requester.h"
#include "softverbs/verbs/responder.h"
#include "softverbs/verbs/world.h"

namespace softverbs {

namespace {

constexpr std::uint64_t kWakeId = 1;
constexpr std::uint64_t kListenId = 2;
constexpr std::uint64_t kControlId = 3;
constexpr int kEventsPerTurn = 64;

std::mutex creation;
std::atomic<Engine*> instance{nullptr};

void add_to_epoll(int epoll, int fd, std::uint64_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

Engine& Engine::get() {
  if (Engine* engine = instance.load(std::memory_order_acquire)) return *engine;
  const std::scoped_lock lock(creation);
  if (Engine* engine = instance.load()) return *engine;
  auto* engine = new Engine();  // lives as long as the process
  static std::once_flag once;
  std::call_once(once, [] {
    ::pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    std::atexit([] {
      if (Engine* last = instance.load()) last->rendezvous_.remove_name();
    });
  });
  instance.store(engine, std::memory_order_release);
  return *engine;
}

Engine::Engine()
    : rendezvous_(world().fabric_dir, world().host->name),
      control_(world().fabric_dir),
      control_reader_(world().fabric_dir) {
  faults_ = std::make_unique<Faults>(
      world().scenario, world().fabric_start,
      [this](const Fault& fault, bool begins) {
        if (fault.kind == FaultKind::kLinkDown) {
          for (const Host& host : world().scenario.hosts)
            for (const Hca& hca : host.hcas)
              for (const Port& port : hca.ports)
                if ((fault.host.empty() || fault.host == host.name) &&
                    (fault.hca.empty() || fault.hca == hca.name) &&
                    (fault.port == 0 || fault.port == port.number)) {
                  control_.set_link(host.name, hca.name, port.number, !begins);
                  apply({ControlCommand::Kind::kLink, host.name, hca.name, port.number, !begins});
                }
        } else if (fault.kind == FaultKind::kLosePeer) {
          control_.set_lost(fault.host, begins);
          apply({ControlCommand::Kind::kLost, fault.host, "", 0, begins});
        } else if (begins && fault.kind == FaultKind::kAsyncEvent) {
          // Every process that meets the fault raises it for itself.
          apply({ControlCommand::Kind::kEvent, fault.host, fault.hca, fault.port, fault.event});
        }
      },
      [] { note_fault(world().fabric_dir, world().host->name); });
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (epoll_ < 0 || wake_ < 0) throw std::system_error(errno, std::generic_category(), "epoll");
  add_to_epoll(epoll_, wake_, kWakeId, EPOLLIN);
  add_to_epoll(epoll_, rendezvous_.listen_fd(), kListenId, EPOLLIN);
  if (control_reader_.notify_fd() >= 0)
    add_to_epoll(epoll_, control_reader_.notify_fd(), kControlId, EPOLLIN);
  follow_control();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the thread
  std::thread thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread.native_handle(), "softverbs");
  thread.detach();
}

void Engine::before_fork() {
  creation.lock();
  if (Engine* engine = instance.load()) {
    engine->gate_.lock();
    engine->main_.lock();
  }
}

void Engine::after_fork_parent() {
  if (Engine* engine = instance.load()) {
    engine->main_.unlock();
    engine->gate_.unlock();
  }
  creation.unlock();
}

// The child has no engine thread: its verbs objects are dead, and the parent's sockets must not
// live on in it, or peers would not see the parent die.
void Engine::after_fork_child() {
  if (Engine* engine = instance.load()) {
    for (const auto& [id, fd_owner] : engine->watched_fds_) ::close(fd_owner);
    engine->rendezvous_.close_all();
    ::close(engine->epoll_);
    ::close(engine->wake_);
    engine->main_.unlock();
    engine->gate_.unlock();
    instance.store(nullptr);
  }
  creation.unlock();
}

Engine::Hold::Hold(Engine& engine) {
  const std::scoped_lock gate(engine.gate_);
  main_ = std::unique_lock(engine.main_);
}

void Engine::queue(Qp& qp) noexcept {
  if (qp.queued.exchange(true, std::memory_order_acq_rel)) return;
  Qp* head = queued_.load(std::memory_order_relaxed);
  do {
    qp.next_queued = head;
  } while (!queued_.compare_exchange_weak(head, &qp));
  if (sleeping_.exchange(false)) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  }
}

void Engine::run() {
  for (;;) {
    int timeout = 0;
    {
      const Hold hold(*this);
      timeout = next_timeout();
    }
    sleeping_.store(true);
    if (queued_.load() != nullptr) timeout = 0;
    epoll_event events[kEventsPerTurn];
    const int count = ::epoll_wait(epoll_, events, kEventsPerTurn, timeout);
    sleeping_.store(false);
    const Hold hold(*this);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events[i].data.u64;
      if (id == kWakeId) {
        std::uint64_t drained = 0;
        [[maybe_unused]] const ssize_t got = ::read(wake_, &drained, sizeof drained);
      } else if (id == kListenId) {
        accept_all();
      } else if (id == kControlId) {
        follow_control();
      } else if (const auto it = watched_.find(id); it != watched_.end()) {
        it->second->on_ready(events[i].events);
      }
    }
    work_queue();
    keep_times();
    dropped_.clear();
  }
}

int Engine::next_timeout() const {
  int timeout = faults_->next_ms();
  auto next = Clock::time_point::max();
  for (const Qp* qp : timed_) next = std::min(next, qp->requester->next_time());
  if (next == Clock::time_point::max()) return timeout;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  const int ms = static_cast<int>(std::clamp<long long>(left, 0, 60000));
  return timeout < 0 ? ms : std::min(timeout, ms);
}

void Engine::work_queue() {
  Qp* qp = queued_.exchange(nullptr);
  while (qp) {
    Qp* next = qp->next_queued;
    qp->queued.exchange(false, std::memory_order_acq_rel);  // sees what was posted before
    if (qp->state.load() == IBV_QPS_ERR) {
      qp->requester->flush();
      flush_receives(*this, *qp);
    } else {
      if (qp->responder && qp->starving.load()) qp->responder->proceed();
      qp->requester->pump();
    }
    qp = next;
  }
}

void Engine::keep_times() {
  faults_->keep_times();
  if (timed_.empty()) return;
  const auto now = Clock::now();
  for (Qp* qp : std::set<Qp*>(timed_)) {
    if (qp->requester->next_time() <= now) qp->requester->keep_time(now);
    if (qp->requester->next_time() == Clock::time_point::max()) timed_.erase(qp);
  }
}

void Engine::accept_all() {
  for (;;) {
    const int fd =
        ::accept4(rendezvous_.listen_fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    auto responder = std::make_unique<Responder>(*this, fd);
    responders_.emplace(responder.get(), std::move(responder));
  }
}

void Engine::drop(Responder* responder) {
  const auto it = responders_.find(responder);
  if (it == responders_.end()) return;
  responder->detach();
  dropped_.push_back(std::move(it->second));
  responders_.erase(it);
}

void Engine::follow_control() {
  for (const ControlCommand& command : control_reader_.read_new()) apply(command);
}

void Engine::apply(const ControlCommand& command) {
  if (command.kind == ControlCommand::Kind::kLost) {
    links_.set_lost(command.host, command.value != 0);
  } else if (command.kind == ControlCommand::Kind::kLink) {
    const Endpoint end = world().fabric.endpoint(command.host, command.hca, command.port);
    const bool up = command.value != 0;
    if (!end || (links_.port_state(end) == IBV_PORT_ACTIVE) == up) return;
    links_.set_link(command.host, command.hca, command.port, up);
  }
  if (command.kind != ControlCommand::Kind::kLost) {
    const int event = command.kind == ControlCommand::Kind::kEvent ? command.value
                      : command.value                              ? IBV_EVENT_PORT_ACTIVE
                                                                   : IBV_EVENT_PORT_ERR;
    for (Context* context : contexts_) {
      const Device& device = *context->device;
      const bool here = (command.host.empty() || device.host->name == command.host) &&
                        (command.hca.empty() || device.hca->name == command.hca);
      if (here) raise_port_event(*context, event, std::max(1, command.port));
    }
  }
  for (const auto& [number, qp] : qps_) {
    if (qp->state.load() != IBV_QPS_RTR && qp->state.load() != IBV_QPS_RTS) continue;
    qp->requester->link_changed();
    if (qp->responder) qp->responder->link_changed();
  }
}

std::uint32_t Engine::add_qp(Qp& qp) {
  constexpr std::uint32_t kMax = 1U << Rendezvous::kBits;
  for (std::uint32_t tries = 0; tries < kMax; ++tries) {
    const std::uint32_t number = rendezvous_.first_qp() + next_qp_;
    next_qp_ = (next_qp_ + 1) % kMax;
    if (qps_.emplace(number, &qp).second) {
      qp.requester = std::make_unique<Requester>(*this, qp);
      return number;
    }
  }
  return 0;
}

void Engine::remove_qp(Qp& qp) {
  // The list of QPs with something to do must not name it any more.
  Qp* waiting = queued_.exchange(nullptr);
  while (waiting) {
    Qp* next = waiting->next_queued;
    waiting->queued.store(false);
    if (waiting != &qp) queue(*waiting);
    waiting = next;
  }
  if (qp.responder) drop(qp.responder);
  qp.requester.reset();
  timed_.erase(&qp);
  qps_.erase(qp.qp.qp_num);
  forget_completions(*qp.send_cq, qp);
  if (qp.recv_cq != qp.send_cq) forget_completions(*qp.recv_cq, qp);
  wake_up();
}

Qp* Engine::find_qp(std::uint32_t number) const {
  const auto it = qps_.find(number);
  return it == qps_.end() ? nullptr : it->second;
}

void Engine::qp_state_changed(Qp& qp) {
  const ibv_qp_state state = qp.state.load();
  if (state == IBV_QPS_RESET || state == IBV_QPS_ERR) {
    if (qp.responder) drop(qp.responder);
    qp.starving.store(false);
  }
  if (state == IBV_QPS_RESET) {
    qp.requester->stop();
    forget_completions(*qp.send_cq, qp);
    if (qp.recv_cq != qp.send_cq) forget_completions(*qp.recv_cq, qp);
    qp.sq.posted.store(0);
    qp.sq.released.store(0);
    qp.rq.posted.store(0);
    qp.rq.released.store(0);
    qp.rq_taken = 0;
  } else if (state == IBV_QPS_ERR) {
    qp.requester->flush();
    flush_receives(*this, qp);
  } else if (state == IBV_QPS_RTS) {
    qp.requester->start();
  }
  if (state == IBV_QPS_RTR || state == IBV_QPS_RTS) {
    std::vector<Responder*> candidates;
    for (const auto& [responder, owned] : responders_)
      if (responder->wanted_qp() == qp.qp.qp_num) candidates.push_back(responder);
    for (Responder* responder : candidates) responder->try_attach();
  }
  wake_up();
}

void Engine::wake_up() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

Mr* Engine::find_mr(std::uint32_t key) const {
  const auto it = mrs_.find(key);
  return it == mrs_.end() ? nullptr : it->second;
}

void Engine::add_mr(Mr& mr) {
  do {
    next_mr_ = (next_mr_ + 1) & 0xffffff;
  } while (next_mr_ == 0 || mrs_.count(next_mr_ << 8));
  mr.mr.lkey = mr.mr.rkey = next_mr_ << 8;
  mr.mr.handle = next_mr_;
  mrs_.emplace(mr.mr.lkey, &mr);
}

void Engine::remove_mr(Mr& mr) { mrs_.erase(mr.mr.lkey); }

std::uint64_t Engine::watch(int fd, std::uint32_t epoll_events, Pollable& who) {
  const std::uint64_t id = next_watch_++;
  watched_.emplace(id, &who);
  watched_fds_.emplace(id, fd);
  add_to_epoll(epoll_, fd, id, epoll_events);
  return id;
}

void Engine::rewatch(int fd, std::uint64_t id, std::uint32_t epoll_events) {
  epoll_event event{};
  event.events = epoll_events;
  event.data.u64 = id;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Engine::unwatch(int fd, std::uint64_t id) {
  if (watched_.erase(id) == 0) return;
  watched_fds_.erase(id);
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

}  // namespace softverbs
