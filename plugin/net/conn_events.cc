#include "net/conn_events.h"

#include <cerrno>
#include <string>
#include <utility>

#include "context/clock.h"
#include "context/errno_text.h"
#include "facts/node.h"
#include "net/devices.h"
#include "net/requests.h"
#include "record/fields.h"

namespace nnd::net {

using nccl_abi::Result;
using record::Event;
using record::EventId;
using record::Severity;

namespace {

double to_us(std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; }

void add_about(Event& e, int api, const state::About& about) {
  add_connection(e, about);
  add_net_device(e, api, about.dev);
  add_peer(e, {.proc = about.peer_proc, .gid = about.peer_gid});
}

void add_outcome(Event& e, const Outcome& outcome) {
  e.add("rc", static_cast<int>(outcome.rc));
  if (outcome.verb != nullptr) e.add("verb", outcome.verb).add("errno", outcome.verb_errno);
  if (outcome.wc_status != 0) e.object("wc").add("status", outcome.wc_status).end();
}

std::string failure_sentence(std::string_view stage, const Outcome& outcome, std::uint64_t age_ns) {
  if (outcome.refusal != nullptr) return std::string(stage) + ": " + outcome.refusal;
  std::string s = "The transport's ";
  s += stage;
  s += " returned " + std::to_string(static_cast<int>(outcome.rc)) + " after " +
       std::to_string(age_ns / 1'000'000) + " ms";
  if (outcome.verb != nullptr)
    s += std::string("; ") + outcome.verb + " failed with errno " +
         context::errno_text(outcome.verb_errno);
  else if (outcome.wc_status != 0)
    s += "; a work request failed with completion status " + std::to_string(outcome.wc_status);
  return s;
}

// The failure catalogue's id for a call that failed. Where the catalogue knows none: what is known,
// the verb's kind and errno, or NCCL's own result (RC-2 is ncclSystemError). Nobody is accused.
std::string cause_of(const Outcome& outcome) {
  if (outcome.refusal != nullptr) return "POLICY";
  if (outcome.wc_status != 0) return "WC-" + std::to_string(outcome.wc_status);
  if (outcome.verb == nullptr) return "RC-" + std::to_string(static_cast<int>(outcome.rc));
  const std::string_view verb = outcome.verb;
  const auto has = [&](std::string_view part) { return verb.find(part) != verb.npos; };
  const std::string number = std::to_string(outcome.verb_errno);
  const bool holds_memory = has("create_cq") || has("create_qp") || has("reg_");
  if (outcome.verb_errno == ENOMEM && holds_memory)
    return std::string(nccl_net_diag::cause_id(diagnosis::out_of_memory(facts::locked_memory())));
  return (has("_qp")     ? "QP-"
          : has("cq")    ? "CQ-"
          : has("reg_")  ? "MR-"
          : has("post_") ? "POST-"
                         : "VERBS-") +
         number;
}

// A connection that NCCL doesn't make, whose ends are of different link layers as far as both are
// known: from 2.19 NCCL refuses such a pair by itself, and only its log says so.
struct LinkLayers {
  LinkLayers(int api, const state::About& about)
      : local(about.peer_link_layer != 0 ? port_of(api, about.dev).link_layer : 0),
        peer(about.peer_link_layer) {}
  bool differ() const { return local != 0 && peer != 0 && local != peer; }
  std::string text() const {
    return std::string("; the port here is ") + facts::link_layer_text(local) +
           ", the one that the peer listens on " + facts::link_layer_text(peer);
  }

  static constexpr const char* kCause = "DEV-MIXLL";
  static constexpr const char* kFix = "Select HCAs of one link layer with NCCL_IB_HCA.";
  int local;
  int peer;
};

// NCCL waits, or has waited, for a peer: one that doesn't fit, as far as both ends are known, else
// one that has not come. What the event said.
std::string blame_missing_peer(Event& e, const LinkLayers& layers, std::string sentence,
                               const char* fix) {
  if (layers.differ()) sentence += layers.text();
  e.blame(layers.differ() ? LinkLayers::kCause : "HANG-CONNECT", sentence,
          layers.differ() ? LinkLayers::kFix : fix);
  return sentence;
}

}  // namespace

Outcome Outcome::of(Result rc) noexcept {
  const state::Current& current = state::current();
  return {rc, current.failed_verb, current.failed_errno, current.refusal, 0};
}

void tell_listen(int api, const state::About& about, bool trailer, std::uint64_t dur_ns) {
  Event e(EventId::kConnListen);
  add_about(e, api, about);
  e.add("trailer", trailer).add("dur_us", to_us(dur_ns)).emit();
}

void tell_open(int api, const state::About& about) {
  Event e(EventId::kConnOpen);
  add_about(e, api, about);
  e.emit();
}

void tell_ready(const Connection& c) {
  Event e(EventId::kConnReady);
  add_about(e, c.api, c.about);
  e.add("dur_us", to_us(c.ready_ns - c.opened_ns)).add("polls", c.polls).emit();
}

void tell_fail(int api, const state::About& about, std::string_view stage, const Outcome& outcome,
               std::uint64_t age_ns, std::uint64_t polls) {
  Event e(EventId::kConnFail, Severity::kError);
  add_about(e, api, about);
  e.add("stage", stage);
  add_outcome(e, outcome);
  e.add("age_us", to_us(age_ns)).add("polls", polls);
  const LinkLayers layers(api, about);
  const std::string sentence = failure_sentence(stage, outcome, age_ns);
  if ((stage == "connect" || stage == "accept") && outcome.may_be_pair() && layers.differ())
    e.blame(LinkLayers::kCause, sentence + layers.text(), LinkLayers::kFix);
  else if (outcome.refusal != nullptr)
    e.blame(cause_of(outcome), sentence,
            "The policy.* events of this process tell the rule and the remedy.");
  else
    e.blame(cause_of(outcome), sentence,
            "The qp.* and port.* events of this connection tell which step failed; compare with "
            "the peer's log (same link).");
  e.emit();
}

std::string tell_late(int api, const state::About& about, std::string_view stage, int qp_state,
                      double deadline_sec, std::uint64_t age_ns, std::uint64_t polls) {
  const char* const where =
      qp_state < 0   ? "no QP was made yet: the peer has not come or not answered"
      : qp_state < 2 ? "QPs were made, the peer has not sent its own"
                     : "QPs are ready, the peer has not said that its own are";
  std::string sentence = std::string(stage) + " has not ended after " +
                         std::to_string(age_ns / 1'000'000) + " ms, and the policy's deadline is " +
                         std::to_string(static_cast<long>(deadline_sec * 1000)) +
                         " ms; stage: " + where;
  Event e(EventId::kConnFail, Severity::kError);
  add_about(e, api, about);
  e.add("stage", stage).add("age_us", to_us(age_ns)).add("polls", polls);
  sentence = blame_missing_peer(
      e, LinkLayers(api, about), std::move(sentence),
      "Look for the peer in the logs of the other processes (same link): it never came, or "
      "failed first. The policy's key is connect.deadline_sec.");
  e.emit();
  return sentence;
}

void tell_reg_fail(const Connection& c, std::string_view stage, const Outcome& outcome) {
  Event e(EventId::kConnFail, Severity::kWarn);
  add_about(e, c.api, c.about);
  e.add("stage", stage);
  add_outcome(e, outcome);
  e.blame(outcome.verb != nullptr ? cause_of(outcome) : "GDR-REGFAIL",
          failure_sentence(stage, outcome, context::mono_ns() - c.ready_ns),
          "NCCL goes on without this registration where it can: through host memory, slower. The "
          "mr.register events tell the memory's kind.");
  e.emit();
}

void tell_abandoned(int api, const state::About& about, std::string_view stage,
                    std::uint64_t age_ns, std::uint64_t polls) {
  Event e(EventId::kConnFail, Severity::kWarn);
  add_about(e, api, about);
  e.add("stage", stage).add("abandoned", true).add("age_us", to_us(age_ns)).add("polls", polls);
  blame_missing_peer(
      e, LinkLayers(api, about),
      "NCCL gave up on this connection after " + std::to_string(age_ns / 1'000'000) + " ms in " +
          std::string(stage),
      "Look for the peer in the logs of the other processes: it never came, or failed first.");
  e.emit();
}

void tell_close(Connection& c, Result rc, std::uint64_t dur_ns) {
  Event e(EventId::kConnClose);
  if (!e.enabled()) return;
  const auto get = [](const auto& n) { return n.load(std::memory_order_relaxed); };
  const record::ConnCounters& n = *c.counters;
  add_about(e, c.api, c.about);
  e.add("rc", static_cast<int>(rc)).add("dur_us", to_us(dur_ns));
  e.add("lived_us", to_us(context::mono_ns() - c.ready_ns));
  e.add("started", get(n.started))
      .add("completed", get(n.completed))
      .add("failed", get(n.failed))
      .add("in_flight", get(n.started) - get(n.completed) - get(n.failed))
      .add("bytes", get(n.bytes))
      .add("flushes", get(c.flushes))
      .add("untracked", get(n.untracked));
  if (const std::uint64_t oldest = oldest_post(c); oldest != 0)
    e.add("oldest_us", to_us(context::raw_clock::to_ns(context::raw_clock::now() - oldest)));
  // Only the buckets in use: "latency_ns": {"1024": 17} counts those that took 1024 to 2047 ns.
  e.object("latency_ns");
  for (std::size_t b = 0; b < nccl_net_diag::box::kLatencyBuckets; ++b)
    if (const std::uint64_t count = get(n.latency[b]); count != 0)
      e.add(std::to_string(std::uint64_t{1} << b), count);
  e.end();
  e.emit();
}

std::atomic<bool> trace_requests{false};

void watch_requests() noexcept {
  trace_requests.store(Event(EventId::kReqPost).enabled() || Event(EventId::kReqDone).enabled(),
                       std::memory_order_relaxed);
}

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

void trace_done(const Connection& c, const Request& r, std::uint64_t ticks) noexcept {
  Event(EventId::kReqDone)
      .add("conn", c.about.id)
      .add("kind", kind_name(r.kind))
      .add("dur_us", to_us(context::raw_clock::to_ns(ticks)))
      .emit();
}

}  // namespace nnd::net
