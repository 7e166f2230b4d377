#include "verbs/failures.h"

#include <optional>

#include "context/quiet.h"
#include "diagnosis/connection.h"
#include "diagnosis/queue_pair.h"
#include "facts/node.h"
#include "state/current.h"
#include "verbs/fields.h"
#include "verbs/gid.h"
#include "verbs/names.h"
#include "verbs/qp_retries.h"

namespace nnd::verbs {
namespace {

using context::gid_zero;

std::string text_of(const context::Gid& gid) { return gid_zero(gid) ? "" : address_text(gid); }

state::Subject subject_of(const state::QpInfo& qp) {
  return {qp.conn.id, place_of(qp), text_of(qp.remote_gid)};
}

int link_layer_of(const state::QpInfo& qp) {
  const facts::Port* const port = facts::current_node().find(qp.device, qp.port);
  return port == nullptr ? 0 : port->link_layer;
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
  seen.from = state_name(move.from);
  seen.to = state_name(move.to);
  seen.error = move.error;
  seen.attempt = move.attempt;
  seen.dur_us = move.dur_us;
  seen.reach = move.ends.reach;
  seen.why = move.ends.why;
  seen.own = move.ends.own_hca != nullptr;
  const bool facts_silent = seen.reach == facts::Reach::kUnknown;
  seen.families_differ = facts_silent && !gid_zero(qp.local_gid) && !gid_zero(qp.remote_gid) &&
                         is_ipv4(qp.local_gid) != is_ipv4(qp.remote_gid);
  seen.link_local = facts_silent && qp.gid_index >= 0 && !gid_zero(qp.local_gid) &&
                    facts::gid_address(qp.local_gid).link_local();
  seen.layers = {link_layer_of(qp), state::current().peer_link_layer};
  return seen;
}

}  // namespace

std::string place_of(const state::QpInfo& qp) {
  return qp.device + (qp.port == 0 ? "" : ":" + std::to_string(qp.port));
}

state::Failure fail_move(const state::QpInfo& qp, const FailedMove& move) {
  const diagnosis::FailedTransition seen = evidence(qp, move);
  const auto broken = state::suspicion_of(qp.conn.id, [&](const diagnosis::Diagnosis& suspicion) {
    return move.to == IBV_QPS_RTR && diagnosis::explains(suspicion.cause, move.error);
  });
  diagnosis::Diagnosis out = diagnose(seen, broken ? &broken->diagnosis : nullptr);
  state::Failure failure =
      state::begin_failure(subject_of(qp), std::move(out), broken ? broken->number : 0);
  failure.diagnosis.sentence += ' ' + diagnosis::what_nccl_does(retries_after(move.error));
  return failure;
}

state::Failure fail_create(const state::QpInfo& qp, int error) {
  return state::begin_failure(subject_of(qp), diagnose(diagnosis::FailedCreation{
                                                  qp.device, error, facts::locked_memory()}));
}

state::Failure fail_completion(const state::QpInfo& qp, const ibv_wc& wc, std::uint64_t completed,
                               std::int64_t age_us) {
  const diagnosis::FailedCompletion seen{
      place_of(qp), text_of(qp.local_gid),  text_of(qp.remote_gid), wc.qp_num,
      wc.status,    status_name(wc.status), wc.vendor_err,          completed,
      age_us};
  std::optional<state::Failure> earlier = state::failure_of(qp.conn.id);
  if (!earlier)
    earlier = state::suspicion_of(qp.conn.id, [&](const diagnosis::Diagnosis& suspicion) {
      return diagnosis::explains(suspicion.cause, seen);
    });
  diagnosis::Diagnosis out = diagnose(seen, earlier ? &earlier->diagnosis : nullptr);
  const bool same = earlier && earlier->diagnosis.cause == out.cause;
  state::Failure now = same ? state::begin_failure(subject_of(qp), out, earlier->number)
                            : state::begin_failure(subject_of(qp), out);
  // What the connection failed with stays its first error; a flush before that was none.
  if (earlier && !same && !diagnosis::is_flush(earlier->diagnosis.cause))
    state::adopt_failure(earlier->number, qp.conn.id);
  return now;
}

void fail_verb(const char* verb, int error) noexcept {
  note_failure(verb, error);
  const state::Current& now = state::current();
  if (now.call == state::Call::kNone) return;
  context::quietly([&] {
    state::begin_failure({now.conn.id, {}, {}},
                         diagnose(diagnosis::FailedVerb{verb, error, facts::locked_memory()}));
  });
}

}  // namespace nnd::verbs
