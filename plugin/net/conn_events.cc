#include "net/conn_events.h"

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "context/clock.h"
#include "diagnosis/connection.h"
#include "diagnosis/memory.h"
#include "inner/last_error.h"
#include "net/devices.h"
#include "net/requests.h"
#include "record/fields.h"
#include "record/recorder.h"
#include "state/failure.h"

namespace nnd::net {

using nccl_abi::Result;
using record::Event;
using record::EventId;
using record::Severity;
using record::Weight;

namespace {

double to_us(std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; }

void add_about(Event& e, int api, const state::Identity& about, Detail detail = Detail::kAll) {
  state::ConnectionEnds ends;
  state::Labels labels;
  if (about.entry != nullptr) {
    about.entry->ends.get(ends);
    about.entry->labels.get(labels);
  }
  add_connection(e, about);
  add_labels(e, about, labels);
  add_net_device(e, api, about.dev, ends, detail);
  const bool told = !context::gid_zero(ends.remote_gid);
  add_peer(e, {.proc = about.peer_proc,
               .rank = labels.peer_rank,
               .gid = told ? ends.remote_gid : about.peer_gid,
               .subnet = ends.remote_subnet});
}

void add_path(Event& e, const state::QpSummary& qp, const state::ConnectionEnds& ends) {
  if (qp.gid != ends.gid && !context::gid_zero(qp.gid))
    e.add("gid", context::gid_text(qp.gid)).add("remote_gid", context::gid_text(qp.remote_gid));
  if (qp.path_mtu != 0) e.add("path_mtu", qp.path_mtu);
  if (qp.remote_num == 0) return;
  e.add("sl", qp.sl);
  if (qp.traffic_class >= 0) e.add("traffic_class", qp.traffic_class);
  e.add("timeout", qp.timeout).add("retry_cnt", qp.retry_cnt).add("rnr_retry", qp.rnr_retry);
}

void add_qp(Event& e, const state::QpSummary& qp, const state::ConnectionEnds& ends,
            std::uint64_t opened_ns) {
  e.push_object().add("num", qp.num);
  const bool loopback = qp.leads_to_itself();
  if (qp.remote_num != 0 && !loopback) e.add("remote_num", qp.remote_num);
  if (qp.rts_ns == 0) e.add("state", state::qp_state_name(qp.state));
  if (loopback)
    e.add("loopback", true);
  else
    add_path(e, qp, ends);
  e.add("attempts", qp.attempts);
  e.add("init_us", qp.init_us).add("rtr_us", qp.rtr_us).add("rts_us", qp.rts_us);
  if (qp.rtr_ns > opened_ns) e.add("rtr_at_us", (qp.rtr_ns - opened_ns) / 1000);
  if (qp.rts_ns > opened_ns) e.add("rts_at_us", (qp.rts_ns - opened_ns) / 1000);
  e.end();
}

// Its QPs as they stand: so no line of theirs is needed to know what became of it.
void add_qps(Event& e, const Connection& c) {
  state::ConnectionEnds ends;
  c.ends.get(ends);
  const std::uint32_t count = c.qps.load(std::memory_order_relaxed);
  if (count == 0) return;
  e.add("qp_count", count).array("qps");
  for (std::uint32_t i = 0; i < count && i < state::kTellableQps; ++i) {
    state::QpSummary qp;
    if (c.qp(i).get(qp) && qp.num != 0) add_qp(e, qp, ends, c.opened_ns);
  }
  e.end();
}

void add_outcome(Event& e, const Outcome& outcome) {
  e.add("rc", static_cast<int>(outcome.rc));
  if (outcome.verb != nullptr) e.add("verb", outcome.verb).add("errno", outcome.verb_errno);
  if (outcome.wc_status != 0) e.object("wc").add("status", outcome.wc_status).end();
}

// A connection that NCCL doesn't make, whose ends are of different link layers as far as both are
// known: from 2.19 NCCL refuses such a pair by itself, and only its log says so.
diagnosis::LinkLayers layers_of(int api, const state::Identity& about) {
  if (about.peer_link_layer == 0) return {};
  return {port_of(api, about.dev).link_layer, about.peer_link_layer};
}

// NCCL's last warning when a connection was begun last: what is the same later is older than it.
std::atomic<std::uint64_t> g_old_warning{0};

std::uint64_t mark_of(const std::string& warning) { return std::hash<std::string>{}(warning); }

std::string new_warning() {
  std::string warning = inner::last_error();
  const bool own = warning.starts_with(record::kNcclPrefix);
  return own || mark_of(warning) == g_old_warning.load() ? std::string() : warning;
}

diagnosis::FailedCall evidence(int api, const state::Identity& about, std::string_view stage,
                               const Outcome& outcome, std::uint64_t age_ns) {
  diagnosis::FailedCall seen;
  seen.stage = stage;
  seen.rc = static_cast<int>(outcome.rc);
  seen.age_ns = age_ns;
  if (outcome.verb != nullptr) seen.verb = outcome.verb;
  seen.verb_errno = outcome.verb_errno;
  seen.wc_status = outcome.wc_status;
  seen.layers = layers_of(api, about);
  seen.said = new_warning();
  return seen;
}

// The event of the last of a failure. What was diagnosed when it happened, if anything was, has its
// number already.
void end_with(Event& e, const state::Identity& about, const std::optional<state::Failure>& known,
              const diagnosis::Diagnosis& said, bool error) {
  const std::uint32_t number =
      known ? known->number : state::begin_failure({about.id, {}, {}, {}}, said).number;
  e.diagnose(said, number);
  if (!error) return e.emit();
  e.emit_to_log();
  const std::string awaited = state::awaited_text();
  record::nccl_warn(diagnosis::text(said) +
                    (awaited.empty() ? "" : " Before that this process waited " + awaited + "."));
}

bool keeps_apart(const diagnosis::Diagnosis& known) { return diagnosis::keeps_apart(known.cause); }

// What a connection's end follows from: this call's failure, what is known of its two ends (or,
// where a peer closed it before it was known, of its port), or its device.
std::optional<state::Failure> known_of(int api, const state::Identity& about, bool peer_closed) {
  if (auto failed = state::failure_of_call(about.id)) return failed;
  if (about.entry != nullptr) {
    auto known = state::known_of_pair(*about.entry, keeps_apart);
    if (!known && peer_closed) known = state::known_of_port(*about.entry, keeps_apart);
    if (known) {
      state::adopt_failure(known->number, about.id);
      return known;
    }
  }
  return state::failure_of_device(device_name(api, about.dev));
}

const diagnosis::Diagnosis* diagnosis_of(const std::optional<state::Failure>& known) {
  return known ? &known->diagnosis : nullptr;
}

}  // namespace

Outcome Outcome::of(Result rc) noexcept {
  const state::CallContext& current = state::current();
  return {rc, current.failed_verb, current.failed_errno, 0};
}

void tell_listen(int api, const state::Identity& about, bool trailer, std::uint64_t dur_ns) {
  Event e(EventId::kConnListen, Severity::kInfo, Weight::kStep);
  if (!e.enabled()) return;
  add_about(e, api, about);
  e.add("trailer", trailer).add("dur_us", to_us(dur_ns)).emit();
}

void tell_open(int api, const state::Identity& about) {
  g_old_warning = mark_of(inner::last_error());
  Event e(EventId::kConnOpen, Severity::kInfo, Weight::kStep);
  if (!e.enabled()) return;
  add_about(e, api, about);
  e.emit();
}

void tell_conn_ready(const Connection& c) {
  Event e(EventId::kConnReady);
  if (e.enabled()) {
    add_about(e, c.api, c.about, Detail::kInUse);
    add_qps(e, c);
  }
  e.add("dur_us", to_us(c.ready_ns - c.opened_ns)).add("polls", c.polls.load()).emit();
  state::came_together(c);
  state::end_failure(c.about.id);  // whatever failed on the way: NCCL got over it
}

void tell_fail(int api, const state::Identity& about, std::string_view stage,
               const Outcome& outcome, std::uint64_t age_ns, std::uint64_t polls) {
  Event e(EventId::kConnFail, Severity::kError);
  add_about(e, api, about);
  if (about.entry != nullptr) add_qps(e, *about.entry);
  e.add("stage", stage);
  add_outcome(e, outcome);
  e.add("age_us", to_us(age_ns)).add("polls", polls);
  const auto known = known_of(api, about, outcome.rc == Result::kRemoteError);
  const auto seen = evidence(api, about, stage, outcome, age_ns);
  if (!known && is_told_by_warning(seen)) e.add("nccl_warning", seen.said);
  end_with(e, about, known, diagnose(seen, diagnosis_of(known)), true);
}

void tell_refused(int api, const state::Identity& about, std::string_view stage,
                  const state::Failure& refusal) {
  Event e(EventId::kConnFail, Severity::kError);
  add_about(e, api, about);
  e.add("stage", stage).add("rc", static_cast<int>(Result::kSystemError));
  e.add("age_us", 0.0).add("polls", 1);
  end_with(e, about, refusal,
           diagnose(diagnosis::RefusedCall{std::string(stage)}, refusal.diagnosis), true);
}

void tell_late(const Connection& c, std::string_view call, double deadline_sec) {
  const std::uint64_t age_ns = context::mono_ns() - c.opened_ns;
  // As enum ibv_qp_state, -1 where it has no QP.
  const int qp_state = static_cast<int>(c.stage.load()) - static_cast<int>(state::Stage::kQpMade);
  Event e(EventId::kConnFail, Severity::kError);
  add_about(e, c.api, c.about);
  add_qps(e, c);
  e.add("stage", call).add("age_us", to_us(age_ns)).add("polls", c.polls.load());
  const auto known = known_of(c.api, c.about, false);
  end_with(e, c.about, known,
           diagnose(diagnosis::MissingPeer{std::string(call), age_ns, false, deadline_sec, qp_state,
                                           layers_of(c.api, c.about)},
                    diagnosis_of(known)),
           true);
}

void tell_reg_fail(const Connection& c, std::string_view stage, const Outcome& outcome) {
  Event e(EventId::kConnFail, Severity::kWarn);
  add_about(e, c.api, c.about);
  e.add("stage", stage);
  add_outcome(e, outcome);
  // Of the call alone: what a live connection had before has nothing to do with it.
  const auto known = state::failure_of_call(0);
  end_with(e, {}, known,
           diagnose(evidence(c.api, c.about, stage, outcome, context::mono_ns() - c.ready_ns),
                    diagnosis_of(known)),
           true);
}

void tell_abandoned(int api, const state::Identity& about, std::string_view stage,
                    std::uint64_t age_ns, std::uint64_t polls) {
  Event e(EventId::kConnFail, Severity::kWarn);
  add_about(e, api, about);
  if (about.entry != nullptr) add_qps(e, *about.entry);
  e.add("stage", stage).add("abandoned", true).add("age_us", to_us(age_ns)).add("polls", polls);
  const auto known = known_of(api, about, false);
  end_with(e, about, known,
           diagnose(diagnosis::MissingPeer{std::string(stage), age_ns, true, 0, -1,
                                           layers_of(api, about)},
                    diagnosis_of(known)),
           false);
}

namespace {

// Only the buckets in use: {"1024": 17} counts those that took 1024 to 2047 ns.
void add_times(Event& e, record::Key key, std::span<const state::Counter> buckets) {
  e.object(key);
  for (std::size_t b = 0; b < buckets.size(); ++b)
    if (const std::uint64_t count = buckets[b].load(std::memory_order_relaxed); count != 0)
      e.add(std::to_string(std::uint64_t{1} << b), count);
  e.end();
}

}  // namespace

void tell_close(Connection& c, Result rc, std::uint64_t dur_ns) {
  Event e(EventId::kConnClose);
  if (!e.enabled()) return;
  const auto get = [](const auto& n) { return n.load(std::memory_order_relaxed); };
  add_about(e, c.api, c.about, Detail::kName);
  e.add("rc", static_cast<int>(rc)).add("dur_us", to_us(dur_ns));
  e.add("lived_us", to_us(context::mono_ns() - (c.ready_ns != 0 ? c.ready_ns : c.opened_ns)));
  e.add("started", get(c.started))
      .add("completed", get(c.completed))
      .add("failed", get(c.failed))
      .add("in_flight", get(c.started) - get(c.completed) - get(c.failed))
      .add("bytes", get(c.bytes));
  if (const std::uint64_t flushes = get(c.flushes); flushes != 0) e.add("flushes", flushes);
  if (const std::uint64_t untracked = get(c.untracked); untracked != 0)
    e.add("untracked", untracked);
  if (const std::uint64_t oldest = oldest_post(c); oldest != 0)
    e.add("oldest_us", to_us(context::raw_clock::elapsed_ns(oldest, context::raw_clock::now())));
  add_times(e, "latency_ns", std::span(c.latency).first<state::kPlausibleBuckets>());
  if (const std::uint64_t waited = get(c.peer_wait_ns); waited != 0) {
    e.add("peer_wait_us", to_us(waited));
    add_times(e, "peer_wait_ns", std::span(c.peer_wait).first<state::kPlausibleBuckets>());
  }
  e.object("mrs");
  for (std::size_t kind = 0; kind < c.mrs.size(); ++kind)
    if (const std::uint64_t count = get(c.mrs[kind]); count != 0)
      e.add(std::string_view(diagnosis::memory_kind_text(static_cast<diagnosis::MemoryKind>(kind))),
            count);
  e.end();
  e.emit();
}

namespace {

std::atomic<bool> trace_requests{false};

}  // namespace

void watch_requests() noexcept {
  trace_requests.store(Event(EventId::kReqPost).enabled() || Event(EventId::kReqDone).enabled(),
                       std::memory_order_relaxed);
}

bool requests_are_traced() noexcept { return trace_requests.load(std::memory_order_relaxed); }

namespace {

std::string_view kind_name(RequestKind kind) {
  return kind == RequestKind::kSend ? "send" : kind == RequestKind::kRecv ? "recv" : "flush";
}

}  // namespace

void trace_posted(const Connection& c, const Request& r) noexcept {
  Event(EventId::kReqPost)
      .add("conn", c.about.id)
      .add("kind", kind_name(r.kind))
      .add("bytes", r.bytes)
      .emit();
}

Result done_traced(Connection& c, Request& r) noexcept {
  const RequestKind kind = r.kind;
  const std::uint64_t ticks = done(c, r);
  Event(EventId::kReqDone)
      .add("conn", c.about.id)
      .add("kind", kind_name(kind))
      .add("dur_us",
           to_us(context::raw_clock::to_ns(static_cast<std::int64_t>(ticks) < 0 ? 0 : ticks)))
      .emit();
  return Result::kSuccess;
}

}  // namespace nnd::net
