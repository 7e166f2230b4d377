#include "net/connector.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
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
#include "net/requests.h"
#include "net/shared_comms.h"
#include "record/event.h"
#include "record/recorder.h"
#include "state/failure.h"
#include "state/labelling.h"

namespace nnd::net {

using context::mono_ns;
using nccl_abi::Result;

namespace {

constexpr state::Identity kUnknown{};

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
void learn_peer(Connection& c) noexcept {
  const state::CallContext& now = state::current();
  if (now.peer_gid == context::Gid{} && now.peer_link_layer == 0) return;
  if (now.peer_gid != context::Gid{}) c.about.peer_gid = now.peer_gid;
  if (now.peer_link_layer != 0) c.about.peer_link_layer = now.peer_link_layer;
  c.publish();
}

bool late(const Connection& c) noexcept {
  const double deadline_sec = dependencies().refusal.deadline_sec();
  return deadline_sec > 0 && static_cast<double>(mono_ns() - c.opened_ns) > deadline_sec * 1e9;
}

void tell_start(Connection& c, const void* handle) noexcept {
  state::ConnectionStart start = start_on(c.api, c.about.dev);
  read_listener(handle, start);
  c.start.set(start);
}

std::uint32_t next_listen_id() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

// A connect or accept was polled. True: for the last time.
bool polled(Connection& c, Result rc, void** comm) noexcept {
  if (pending(rc, comm) && c.polls.load(std::memory_order_relaxed) == 0)
    shared_comms().waits(c, comm);
  state::add(c.polls, 1);
  c.last_poll.store(context::raw_clock::now(), std::memory_order_relaxed);
  c.in_call.store(false, std::memory_order_relaxed);
  learn_peer(c);
  return !pending(rc, comm) || late(c);
}

// Its entry is free for another.
void drop(Connection& c) noexcept {
  state::forget_connection(c.about.id);
  release_connection(c);
}

// NCCL has given it up: it isn't needed, or its peer never came. age_ns: until then.
void abandon(Connection& c, std::uint64_t age_ns) noexcept {
  const bool needless = shared_comms().forget(c);
  const char* const call = c.kind == state::ConnectionKind::kSend ? "connect" : "accept";
  context::quietly([&] {
    if (needless)
      tell_close(c, Result::kSuccess, 0);
    else if (c.stage != state::Stage::kFailed)
      tell_abandoned(c.api, c.about, call, age_ns, c.polls);
  });
  drop(c);
}

void abandon(Connection& c) noexcept { abandon(c, mono_ns() - c.opened_ns); }

// It has no comm yet, and the policy's deadline is over: NCCL is told so each time it asks. The
// transport's own half of it is out of reach, so the entry stays until NCCL gives it up.
Result too_late(Connection& c, const char* call) noexcept {
  shared_comms().forget(c);
  if (c.fail_told) return Result::kSystemError;
  c.fail_told = true;
  context::quietly([&] { tell_late(c, call, dependencies().refusal.deadline_sec()); });
  c.stage = state::Stage::kFailed;
  return Result::kSystemError;
}

// After the last poll. What NCCL is to get.
Result end_attempt(Connection& c, const char* call, Result rc, void** comm,
                   bool awaits_consumed) noexcept {
  if (rc == Result::kSuccess && *comm != nullptr)
    shared_comms().filled(c, comm);
  else
    shared_comms().forget(c);
  const Outcome outcome = Outcome::of(rc);
  const bool failed = rc != Result::kSuccess;
  // NCCL closes a comm that came with an error, so that one is wrapped too.
  const bool has_comm = *comm != nullptr;
  if (has_comm) {
    c.awaits_consumed = awaits_consumed;
    c.fail_told = failed;
    c.traced = requests_are_traced();
    c.unlabelled = true;
    state::expect_requests();
    hand_out(c, *comm);
    *comm = &c;
    if (failed) c.stage = state::Stage::kFailed;
  }
  context::quietly([&] {
    if (failed)
      tell_fail(c.api, c.about, call, outcome, mono_ns() - c.opened_ns, c.polls);
    else
      tell_conn_ready(c);
  });
  if (!has_comm) drop(c);
  return rc;
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
  [[maybe_unused]] static const bool watched =
      (context::in_forked_child([]() noexcept { attempts().forget(); }), true);
  return *instance;
}

void end_given_up(std::uint64_t mono_ns) noexcept {
  context::quietly([&] {
    for (const Attempts::GivenUp& one : attempts().take_given_up(mono_ns)) {
      const std::uint64_t age_ns = mono_ns - one.attempt->opened_ns;
      abandon(*one.attempt, age_ns - std::min(age_ns, one.unpolled_ns));
    }
  });
}

ListenCall::ListenCall(int api, void* ctx, int dev, void* handle) noexcept
    : api_(api), ctx_(ctx), handle_(handle), tail_(handle), began_ns_(mono_ns()) {
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
  nccl_net_diag::trailer::Trailer t{
      about_.link_proc, about_.link_listen, port.gid, port.link_layer, port.roce, 0, {}};
  state::ConnectionStart start;
  read_listener(handle_, start);
  if (start.listener_port != 0) dependencies().peers.listening(start.listener, t);
  const bool trailer = tail_.seal(t);
  if (Connection* const c = open_connection(state::ConnectionKind::kListen, api_, about_, ctx_)) {
    c->opened_ns = began_ns_;
    tell_start(*c, handle_);
    hand_out(*c, *listen_comm);
    *listen_comm = c;
  }
  context::quietly([&] { tell_listen(api_, about_, trailer, took); });
}

ConnectPoll::ConnectPoll(int api, void* ctx, int dev, void* handle) noexcept : handle_(handle) {
  const Attempts::Entered entered = attempts().enter(api, handle, ctx, dev);
  attempt_ = entered.attempt;
  if (entered.replaced != nullptr) abandon(*entered.replaced);
  if (attempt_ == nullptr || !entered.begun) return;
  state::Identity& about = attempt_->about;
  about.comm = comm_of(ctx);
  tell_start(*attempt_, handle);
  if (const auto trailer = read_trailer(handle)) {
    about.link_proc = trailer->proc;
    about.link_listen = trailer->listen;
    about.peer_proc = trailer->proc;
    about.peer_gid = trailer->gid;
    about.peer_link_layer = trailer->link_layer;
    about.peer_roce = trailer->roce;
    state::ConnectionStart start;
    if (attempt_->start.get(start) && trailer->port != 0)
      dependencies().peers.connecting(*trailer, start.listener);
  }
  attempt_->publish();
  context::quietly([&] { tell_open(api, about); });
}

const state::Identity& ConnectPoll::about() const noexcept {
  return attempt_ == nullptr ? kUnknown : attempt_->about;
}

Result ConnectPoll::finish(Result rc, void** comm, bool awaits_consumed) noexcept {
  if (attempt_ == nullptr) return rc;
  if (!polled(*attempt_, rc, comm)) {
    attempts().leave(*attempt_, handle_);
    return rc;
  }
  if (pending(rc, comm)) {
    attempts().leave(*attempt_, handle_);
    return too_late(*attempt_, "connect");
  }
  attempts().drop(handle_, *attempt_);
  return end_attempt(*attempt_, "connect", rc, comm, awaits_consumed);
}

AcceptPoll::AcceptPoll(Connection& listener) noexcept : listener_(listener) {
  const Attempts::Entered entered = attempts().enter(listener);
  attempt_ = entered.attempt;
  if (attempt_ == nullptr || !entered.begun) return;
  state::ConnectionStart start;
  if (listener.start.get(start)) attempt_->start.set(start);
  context::quietly([&] { tell_open(listener.api, attempt_->about); });
}

const state::Identity& AcceptPoll::about() const noexcept {
  return attempt_ == nullptr ? kUnknown : attempt_->about;
}

Result AcceptPoll::finish(Result rc, void** comm, bool awaits_consumed) noexcept {
  if (attempt_ == nullptr || !polled(*attempt_, rc, comm)) return rc;
  if (pending(rc, comm)) return too_late(*attempt_, "accept");
  attempts().drop(&listener_, *attempt_);
  return end_attempt(*attempt_, "accept", rc, comm, awaits_consumed);
}

void closed(Connection& c, Result rc, std::uint64_t began_ns) noexcept {
  if (c.kind == state::ConnectionKind::kListen) {
    if (Connection* const attempt = attempts().take(c)) abandon(*attempt);
  } else {
    context::quietly([&] { tell_close(c, rc, mono_ns() - began_ns); });
  }
  drop(c);
}

Result failed(Connection& c, const char* stage, Result rc) noexcept {
  if (c.fail_told) return rc;
  c.fail_told = true;
  c.stage = state::Stage::kFailed;
  Outcome outcome = Outcome::of(rc);
  state::current().failed_verb = nullptr;  // no Scope of this call's own does it
  state::Identity about = c.about;
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
  return rc;
}

void reg_failed(void* comm, const char* stage, Result rc) noexcept {
  if (!is_ours(comm)) return;
  auto& c = *static_cast<Connection*>(comm);
  if (c.reg_fail_told) return;
  c.reg_fail_told = true;
  context::quietly([&] { tell_reg_fail(c, stage, Outcome::of(rc)); });
}

Result test_failed(Request& r, Result rc) noexcept {
  if (r.state != RequestState::kInFlight) return rc;
  Connection& c = *r.conn;
  r.state = RequestState::kFailed;
  r.posted.store(0, std::memory_order_relaxed);
  state::add(c.failed, 1);
  return failed(c, "test", rc);
}

namespace {

// It fails as the user wants it to, and env.lint tells what that costs.
bool is_disabled_by_user() {
  const char* const disable = std::getenv("NCCL_IB_DISABLE");
  return disable != nullptr && std::atoi(disable) != 0;
}

}  // namespace

void tell_comm_init(int api, void** ctx, std::uint64_t comm, const nccl_abi::NetCommConfig* config,
                    Result rc) noexcept {
  if (ctx != nullptr && rc == Result::kSuccess) remember_comm(*ctx, comm);
  context::quietly([&] {
    const Outcome outcome = Outcome::of(rc);
    const state::Failure* const refusal = dependencies().refusal.failure();
    const bool is_failure =
        rc != Result::kSuccess &&
        (refusal != nullptr || outcome.verb != nullptr || !is_disabled_by_user());
    record::Event e(record::EventId::kCommInit,
                    is_failure ? record::Severity::kError : record::Severity::kInfo);
    if (ctx != nullptr) e.hex("comm", comm);
    e.add("net_api", api).add("rc", static_cast<int>(rc));
    if (config != nullptr) e.add("traffic_class", config->trafficClass);
    if (is_failure) {
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
    for (Connection* const attempt : attempts().take_all(ctx)) abandon(*attempt);
    std::uint64_t open = 0;
    state::for_each_connection([&](const Connection& c) {
      if (c.ctx == ctx && c.kind != state::ConnectionKind::kListen && c.ready_ns != 0) ++open;
    });
    record::Event e(record::EventId::kCommFinalize);
    if (const std::uint64_t comm = comm_of(ctx); comm != 0) e.hex("comm", comm);
    e.add("net_api", api).add("open_connections", open).emit();
    const std::lock_guard guard(comms().lock);
    comms().by_ctx.erase(ctx);
  });
}

}  // namespace nnd::net
