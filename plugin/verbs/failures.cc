#include "verbs/failures.h"

#include <cmath>
#include <optional>

#include "context/clock.h"
#include "context/quiet.h"
#include "diagnosis/completion_status.h"
#include "diagnosis/connection.h"
#include "diagnosis/queue_pair.h"
#include "facts/node.h"
#include "facts/own_sockets.h"
#include "facts/path.h"
#include "state/connections.h"
#include "state/current.h"
#include "state/gpu_memory.h"
#include "state/ports.h"
#include "verbs/fields.h"
#include "verbs/gid.h"
#include "verbs/qp_retries.h"

namespace nnd::verbs {
namespace {

using context::gid_zero;

std::string text_of(const context::Gid& gid) { return gid_zero(gid) ? "" : address_text(gid); }

state::Subject subject_of(const state::QpInfo& qp) {
  return {qp.conn.id, place_of(qp), text_of(qp.remote_gid), qp.remote_gid};
}

int link_layer_of(const state::QpInfo& qp) {
  const facts::Port* const port = facts::current_node().find(qp.device, qp.port);
  return port == nullptr ? 0 : port->link_layer;
}

// The index at which NCCL looks for the port's partition key, where none is; -1: there is one, or
// it isn't known.
int empty_pkey_of(const state::QpInfo& qp) {
  const facts::Port* const port = facts::current_node().find(qp.device, qp.port);
  if (port == nullptr || !port->infiniband() || port->pkeys.empty() || port->pkey_index < 0)
    return -1;
  const auto index = static_cast<std::size_t>(port->pkey_index);
  const bool there = index < port->pkeys.size() && port->pkeys[index] != 0;
  return there ? -1 : static_cast<int>(port->pkey_index);
}

bool is_ipv4(const context::Gid& gid) {
  return facts::gid_address(gid).family == facts::Family::kIpv4;
}

diagnosis::FailedTransition evidence(const state::QpInfo& qp, const FailedMove& move) {
  diagnosis::FailedTransition seen;
  seen.place = place_of(qp);
  seen.local = text_of(qp.local_gid);
  seen.remote = text_of(qp.remote_gid);
  seen.qp = qp.num;
  seen.remote_qp = qp.remote_num;
  seen.from = state::qp_state_name(move.from);
  seen.to = state::qp_state_name(move.to);
  seen.error = move.error;
  seen.attempt = move.attempt;
  seen.dur_us = move.dur_us;
  seen.reach = move.ends.reach;
  seen.why = move.ends.why;
  seen.own = move.ends.own_hca != nullptr;
  const bool facts_silent = seen.reach == facts::Reachability::kUnknown;
  seen.families_differ = facts_silent && !gid_zero(qp.local_gid) && !gid_zero(qp.remote_gid) &&
                         is_ipv4(qp.local_gid) != is_ipv4(qp.remote_gid);
  seen.link_local = facts_silent && qp.gid_index >= 0 && !gid_zero(qp.local_gid) &&
                    facts::gid_address(qp.local_gid).link_local();
  seen.layers = {link_layer_of(qp), state::current().peer_link_layer};
  seen.path = move.path;
  if (move.to == IBV_QPS_INIT) seen.empty_pkey = empty_pkey_of(qp);
  const state::PortHistory port = state::history_of(qp.device, qp.port);
  seen.port_down = port.down;
  if (port.down) seen.down_ago_sec = static_cast<double>(context::mono_ns() - port.down_ns) / 1e9;
  return seen;
}

// Whether the process at the other end of the connection's TCP connection is there.
std::optional<bool> peer_there(const state::Connection& c) {
  state::ConnectionStart start;
  if (!c.start.get(start) || start.listener_port == 0) return std::nullopt;
  return facts::peer_there({start.listener, start.listener_port},
                           c.kind.load() == state::ConnectionKind::kRecv);
}

void add_connection_history(const state::QpInfo& qp, diagnosis::FailedCompletion& seen) {
  const state::Connection* const c = qp.conn.entry;
  if (c == nullptr || c->id.load(std::memory_order_relaxed) != qp.conn.id) return;
  const std::uint64_t ready_ns = c->ready_ns.load(std::memory_order_relaxed);
  if (ready_ns != 0) seen.conn_sec = static_cast<double>(context::mono_ns() - ready_ns) / 1e9;
  seen.conn_bytes = c->bytes.load(std::memory_order_relaxed);
  if (seen.status != IBV_WC_RETRY_EXC_ERR) return;
  using Peer = diagnosis::FailedCompletion::Peer;
  if (const auto there = peer_there(*c)) seen.peer = *there ? Peer::kThere : Peer::kEnded;
}

void add_surroundings(const state::QpInfo& qp, diagnosis::FailedCompletion& seen) {
  add_connection_history(qp, seen);
  if (qp.timeout != 0) seen.budget_sec = std::ldexp(4.096e-6, qp.timeout) * qp.retry_cnt;
  const state::PortHistory port = state::history_of(qp.device, qp.port);
  seen.port_down = port.down;
  if (port.down_ns != 0)
    seen.down_ago_sec = static_cast<double>(context::mono_ns() - port.down_ns) / 1e9;
  if (const auto* lost = qp.gid_index < 0 ? nullptr : port.find_lost(qp.local_gid)) {
    seen.gid_gone = !lost->back;
    seen.gid_went_ago_sec = static_cast<double>(context::mono_ns() - lost->went_ns) / 1e9;
  }
  if (const facts::Hca* hca = facts::current_node().find(qp.device);
      hca != nullptr && hca->iommu_type.starts_with("DMA") && state::has_gpu_memory(qp.device))
    seen.translating = hca->iommu_type;
  if (const auto first = state::list_failures(1).first; !first.empty()) {
    seen.first_failure = first[0].failure.number;
    seen.first_cause = first[0].failure.diagnosis.cause;
  }
}

// Of what the port told of itself before, where that is the cause; 0: nothing.
std::uint32_t number_of_port(const std::string& place, diagnosis::Cause cause) {
  const auto told = state::suspicion_of_port(place, cause);
  return told ? told->number : 0;
}

}  // namespace

std::string place_of(const state::QpInfo& qp) {
  return qp.device + (qp.port == 0 ? "" : ":" + std::to_string(qp.port));
}

state::Failure register_failed_move(const state::QpInfo& qp, const FailedMove& move) {
  const diagnosis::FailedTransition seen = evidence(qp, move);
  const auto broken = state::suspicion_of(qp.conn.id, [&](const diagnosis::Diagnosis& suspicion) {
    return move.to == IBV_QPS_RTR && diagnosis::explains(suspicion.cause, move.error);
  });
  diagnosis::Diagnosis out = diagnose(seen, broken ? &broken->diagnosis : nullptr);
  const std::uint32_t of = broken ? broken->number : number_of_port(seen.place, out.cause);
  state::Failure failure = state::begin_failure(subject_of(qp), std::move(out), of);
  failure.diagnosis.sentence += ' ' + diagnosis::what_nccl_does(retries_after(move.error));
  return failure;
}

state::Failure register_failed_create(const state::QpInfo& qp, int error) {
  return state::begin_failure(subject_of(qp), diagnose(diagnosis::FailedCreation{
                                                  qp.device, error, facts::locked_memory()}));
}

diagnosis::Path path_of(const state::QpInfo& qp) {
  return facts::path_to(facts::current_node(), qp.device, qp.port, qp.gid_index, qp.remote_gid);
}

void add_path(record::Event& event, const diagnosis::Path& path) {
  if (path.netdev.empty()) return;
  event.object("path").add("netdev", path.netdev);
  if (!path.gateway.empty()) event.add("gateway", path.gateway);
  if (path.error != 0) event.add("errno", path.error);
  if (!path.neighbour.empty()) event.add("neighbour", path.neighbour);
  event.end();
}

state::Failure register_failed_completion(const state::QpInfo& qp, const ibv_wc& wc,
                                          std::uint64_t completed, std::int64_t age_us,
                                          const diagnosis::Path& path) {
  diagnosis::FailedCompletion seen{place_of(qp),
                                   text_of(qp.local_gid),
                                   text_of(qp.remote_gid),
                                   wc.qp_num,
                                   wc.status,
                                   diagnosis::completion_status_name(wc.status),
                                   wc.vendor_err,
                                   completed,
                                   age_us};
  seen.path = path;
  add_surroundings(qp, seen);
  std::optional<state::Failure> earlier = state::failure_of(qp.conn.id);
  if (!earlier)
    earlier = state::suspicion_of(qp.conn.id, [&](const diagnosis::Diagnosis& suspicion) {
      return diagnosis::explains(suspicion.cause, seen);
    });
  if (!earlier && wc.status == IBV_WC_WR_FLUSH_ERR) earlier = state::failure_of_device(qp.device);
  diagnosis::Diagnosis out = diagnose(seen, earlier ? &earlier->diagnosis : nullptr);
  const bool same = earlier && earlier->diagnosis.cause == out.cause;
  state::Failure now = state::begin_failure(
      subject_of(qp), out, same ? earlier->number : number_of_port(seen.place, out.cause));
  // What the connection failed with stays its first error; a flush before that was none.
  if (earlier && !same && !diagnosis::is_flush(earlier->diagnosis.cause))
    state::adopt_failure(earlier->number, qp.conn.id);
  return now;
}

void register_failed_verb(const char* verb, int error) noexcept {
  note_failure(verb, error);
  const state::CallContext& now = state::current();
  if (now.call == state::Call::kNone) return;
  context::quietly([&] {
    state::begin_failure({now.conn.id, {}, {}, {}},
                         diagnose(diagnosis::FailedVerb{verb, error, facts::locked_memory()}));
  });
}

}  // namespace nnd::verbs
