#include "net/connector.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "context/quiet.h"
#include "diagnosis/connection.h"
#include "net/dependencies.h"
#include "net/devices.h"
#include "record/event.h"
#include "record/recorder.h"
#include "state/failure.h"

namespace nnd::net {

using context::mono_ns;
using nccl_abi::Result;
using state::Direction;

namespace {

struct Comms {
  context::ForkMutex lock;
  std::map<void*, std::uint64_t> by_ctx;
};

Comms& comms() {
  static context::Immortal<Comms> instance;
  return *instance;
}

bool pending(Result rc, void** comm) noexcept {
  return (rc == Result::kSuccess || rc == Result::kInProgress) && *comm == nullptr;
}

// What verbs was told of the peer, in place of what the peer announced.
void learn_peer(state::About& about) noexcept {
  if (const context::Gid& gid = state::current().peer_gid; gid != context::Gid{})
    about.peer_gid = gid;
  if (const std::uint8_t layer = state::current().peer_link_layer; layer != 0)
    about.peer_link_layer = layer;
}

bool late(std::uint64_t began_ns, double deadline_sec) noexcept {
  return deadline_sec > 0 && static_cast<double>(mono_ns() - began_ns) > deadline_sec * 1e9;
}

// Event fields "conn" and "link".listen: 1, 2, ... in this process.
std::uint32_t next_connection_id() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

std::uint32_t next_listen_id() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

// Our own object in place of the transport's, or null.
Connection* wrap(Kind kind, int api, const state::About& about, void* ctx, std::uint64_t began_ns,
                 std::uint64_t polls, void** comm) noexcept {
  Connection* const c = acquire_connection(kind);
  if (c == nullptr) return nullptr;
  c->api = static_cast<std::uint8_t>(api);
  c->about = about;
  c->ctx = ctx;
  c->opened_ns = began_ns;
  c->ready_ns = mono_ns();
  c->polls = polls;
  c->inner = *comm;
  if (kind != Kind::kListen) c->counters = record::acquire_conn(about);
  *comm = c;
  return c;
}

void remember_comm(void* ctx, std::uint64_t comm) noexcept {
  context::quietly([&] {
    const std::lock_guard guard(comms().lock);
    comms().by_ctx[ctx] = comm;
  });
}

std::uint64_t comm_of(void* ctx) noexcept {
  const std::lock_guard guard(comms().lock);
  const auto found = comms().by_ctx.find(ctx);
  return found == comms().by_ctx.end() ? 0 : found->second;
}

}  // namespace

Attempts& attempts() noexcept {
  static context::Immortal<Attempts> instance;
  return *instance;
}

ListenCall::ListenCall(int api, void* ctx, int dev, void* handle) noexcept
    : api_(api), ctx_(ctx), tail_(handle), began_ns_(mono_ns()) {
  about_.dev = dev;
  about_.comm = comm_of(ctx);
  about_.link_proc = record::proc_id();
  about_.link_listen = next_listen_id();
}

void ListenCall::finish(Result rc, void** listen_comm) noexcept {
  const std::uint64_t took = mono_ns() - began_ns_;
  if (rc != Result::kSuccess || *listen_comm == nullptr) {
    tail_.restore();
    context::quietly([&] { tell_fail(api_, about_, "listen", Outcome::of(rc), took, 1); });
    return;
  }
  PortFacts port;
  context::quietly([&] { port = port_of(api_, about_.dev); });
  const nccl_net_diag::trailer::Trailer t{about_.link_proc, about_.link_listen, port.gid,
                                          port.link_layer, port.roce};
  const bool trailer = tail_.seal(t);
  wrap(Kind::kListen, api_, about_, ctx_, began_ns_, 1, listen_comm);
  context::quietly([&] { tell_listen(api_, about_, trailer, took); });
}

ConnectPoll::ConnectPoll(int api, void* ctx, int dev, void* handle) noexcept
    : api_(api), handle_(handle) {
  Attempts::Entered entered = attempts().enter(handle, ctx, dev);
  attempt_ = std::move(entered.attempt);
  if (!entered.begun) return;
  Attempt& a = *attempt_;
  a.began_ns = mono_ns();
  a.about.id = next_connection_id();
  a.about.comm = comm_of(ctx);
  if (const auto trailer = read_trailer(handle)) {
    a.about.link_proc = trailer->proc;
    a.about.link_listen = trailer->listen;
    a.about.peer_proc = trailer->proc;
    a.about.peer_gid = trailer->gid;
    a.about.peer_link_layer = trailer->link_layer;
    a.about.peer_roce = trailer->roce;
  }
  context::quietly([&] {
    if (entered.replaced) {
      const Attempt& old = *entered.replaced;
      tell_abandoned(api_, old.about, "connect", a.began_ns - old.began_ns, old.polls);
    }
    tell_open(api_, a.about);
  });
}

const state::About& ConnectPoll::about() const noexcept {
  static constexpr state::About kUnknown{};
  if (attempt_ == nullptr) return kUnknown;
  return attempt_->about;
}

Result ConnectPoll::finish(Result rc, void** comm, bool awaits_consumed) noexcept {
  if (attempt_ == nullptr) return rc;
  learn_peer(attempt_->about);
  if (pending(rc, comm)) {
    if (const int state = state::current().qp_state; state >= 0) attempt_->qp_state = state;
    const double deadline_sec = dependencies().refusal.deadline_sec();
    if (!late(attempt_->began_ns, deadline_sec)) {
      attempts().leave(*attempt_, handle_);
      return rc;
    }
    const std::shared_ptr<Attempt> a = attempt_;
    attempts().drop(handle_, *a);
    context::quietly([&] {
      tell_late(api_, a->about, "connect", a->qp_state, deadline_sec, mono_ns() - a->began_ns,
                a->polls + 1);
    });
    return Result::kSystemError;
  }
  const Outcome outcome = Outcome::of(rc);
  const std::shared_ptr<Attempt> a = attempt_;
  attempts().drop(handle_, *a);
  Connection* c = nullptr;
  // NCCL closes a comm that came with an error, so that one is wrapped too.
  if (*comm != nullptr)
    c = wrap(Kind::kSend, api_, a->about, a->ctx, a->began_ns, a->polls + 1, comm);
  if (c != nullptr) c->awaits_consumed = awaits_consumed;
  context::quietly([&] {
    if (rc != Result::kSuccess) {
      if (c != nullptr) c->fail_told = true;
      tell_fail(api_, a->about, "connect", outcome, mono_ns() - a->began_ns, a->polls + 1);
    } else if (c != nullptr) {
      tell_ready(*c);
    }
  });
  return rc;
}

AcceptPoll::AcceptPoll(Connection& listener) noexcept : listener_(listener) {
  if (listener.attempt_began_ns != 0) return;
  listener.attempt_began_ns = mono_ns();
  listener.attempt_polls = 0;
  listener.attempt_qp_state = -1;
  listener.attempt = listener.about;
  listener.attempt.id = next_connection_id();
  listener.attempt.dir = Direction::kRecv;
  context::quietly([&] { tell_open(listener.api, listener.attempt); });
}

Result AcceptPoll::finish(Result rc, void** comm, bool awaits_consumed) noexcept {
  Connection& l = listener_;
  ++l.attempt_polls;
  learn_peer(l.attempt);
  if (pending(rc, comm)) {
    if (const int state = state::current().qp_state; state >= 0) l.attempt_qp_state = state;
    const double deadline_sec = dependencies().refusal.deadline_sec();
    if (!late(l.attempt_began_ns, deadline_sec)) return rc;
    context::quietly([&] {
      tell_late(l.api, l.attempt, "accept", l.attempt_qp_state, deadline_sec,
                mono_ns() - l.attempt_began_ns, l.attempt_polls);
    });
    l.attempt_began_ns = 0;
    return Result::kSystemError;
  }
  const Outcome outcome = Outcome::of(rc);
  const std::uint64_t began_ns = l.attempt_began_ns;
  l.attempt_began_ns = 0;
  Connection* c = nullptr;
  if (*comm != nullptr)
    c = wrap(Kind::kRecv, l.api, l.attempt, l.ctx, began_ns, l.attempt_polls, comm);
  if (c != nullptr) c->awaits_consumed = awaits_consumed;
  context::quietly([&] {
    if (rc != Result::kSuccess) {
      if (c != nullptr) c->fail_told = true;
      tell_fail(l.api, l.attempt, "accept", outcome, mono_ns() - began_ns, l.attempt_polls);
    } else if (c != nullptr) {
      tell_ready(*c);
    }
  });
  return rc;
}

void closed(Connection& c, Result rc, std::uint64_t began_ns) noexcept {
  context::quietly([&] {
    if (c.kind != Kind::kListen)
      tell_close(c, rc, mono_ns() - began_ns);
    else if (c.attempt_began_ns != 0)
      tell_abandoned(c.api, c.attempt, "accept", mono_ns() - c.attempt_began_ns, c.attempt_polls);
  });
  state::forget_connection(c.about.id);
  if (c.counters != nullptr) record::release_conn(c.counters);
  release_connection(&c);
}

void failed(Connection& c, const char* stage, Result rc) noexcept {
  if (c.fail_told) return;
  c.fail_told = true;
  Outcome outcome = Outcome::of(rc);
  state::current().failed_verb = nullptr;  // no Scope of this call's own does it
  state::About about = c.about;
  state::FailedCompletion& completion = state::failed_completion();
  if (completion.conn == about.id && completion.holds()) {
    outcome.wc_status = completion.status;
    if (completion.peer_gid != context::Gid{}) about.peer_gid = completion.peer_gid;
  } else if (completion.conn == about.id) {
    state::end_failure(about.id);
  }
  completion = {};
  context::quietly(
      [&] { tell_fail(c.api, about, stage, outcome, mono_ns() - c.opened_ns, c.polls); });
}

void reg_failed(void* comm, const char* stage, Result rc) noexcept {
  if (!is_ours(comm)) return;
  auto& c = *static_cast<Connection*>(comm);
  if (c.reg_fail_told) return;
  c.reg_fail_told = true;
  context::quietly([&] { tell_reg_fail(c, stage, Outcome::of(rc)); });
}

void failed(Request& r, Result rc) noexcept {
  if (r.state != RequestState::kInFlight) return;
  Connection& c = *connection_of(&r);
  r.state = RequestState::kFailed;
  r.posted.store(0, std::memory_order_relaxed);
  record::ConnCounters::add(c.counters->failed, 1);
  failed(c, "test", rc);
}

void tell_comm_init(int api, void** ctx, std::uint64_t comm, const nccl_abi::NetCommConfig* config,
                    Result rc) noexcept {
  if (ctx != nullptr && rc == Result::kSuccess) remember_comm(*ctx, comm);
  context::quietly([&] {
    record::Event e(record::EventId::kCommInit,
                    rc == Result::kSuccess ? record::Severity::kInfo : record::Severity::kError);
    if (ctx != nullptr) e.hex("comm", comm);
    e.add("net_api", api).add("rc", static_cast<int>(rc));
    if (config != nullptr) e.add("traffic_class", config->trafficClass);
    if (rc != Result::kSuccess) {
      const Outcome outcome = Outcome::of(rc);
      const state::Failure* const refusal = dependencies().refusal.failure();
      const diagnosis::Diagnosis said = diagnose(
          diagnosis::FailedInit{static_cast<int>(rc), outcome.verb != nullptr ? outcome.verb : ""},
          refusal != nullptr ? &refusal->diagnosis : nullptr);
      e.diagnose(said,
                 refusal != nullptr ? refusal->number : state::begin_failure({}, said).number);
    }
    e.emit();
  });
}

void finalizing(int api, void* ctx) noexcept {
  context::quietly([&] {
    for (const auto& a : attempts().take_all(ctx))
      tell_abandoned(api, a->about, "connect", mono_ns() - a->began_ns, a->polls);
    std::uint64_t open = 0;
    for_each_connection([&](Connection& c) {
      if (c.ctx == ctx && c.kind != Kind::kListen) ++open;
    });
    record::Event e(record::EventId::kCommFinalize);
    if (const std::uint64_t comm = comm_of(ctx); comm != 0) e.hex("comm", comm);
    e.add("net_api", api).add("open_connections", open).emit();
    const std::lock_guard guard(comms().lock);
    comms().by_ctx.erase(ctx);
  });
}

}  // namespace nnd::net
