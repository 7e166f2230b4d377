#include "verbs/qp_events.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "diagnosis/queue_pair.h"
#include "diagnosis/verb_causes.h"
#include "facts/node.h"
#include "facts/subnet.h"
#include "verbs/clock.h"
#include "verbs/failures.h"
#include "verbs/fields.h"
#include "verbs/gid.h"
#include "verbs/names.h"
#include "verbs/qp_retries.h"

namespace nnd::verbs {
namespace {

using record::Event;
using record::EventId;
using record::Severity;
using record::Weight;

// How the two ends reach each other, as far as the node's facts are still true of the local GID.
facts::SubnetVerdict verdict_of(const state::QpInfo& qp) {
  if (context::gid_zero(qp.local_gid) || context::gid_zero(qp.remote_gid)) return {};
  const facts::Node& node = facts::current_node();
  const facts::Port* port = node.find(qp.device, qp.port);
  const facts::Gid* local = port == nullptr ? nullptr : port->gid(qp.gid_index);
  if (local == nullptr || local->raw != qp.local_gid) return {};
  return facts::compare(node, qp.device, qp.port, qp.gid_index, qp.remote_gid);
}

void add_local(Event& event, const state::QpInfo& qp) {
  add_device(event, {.name = qp.device,
                     .port = qp.port,
                     .gid_index = qp.gid_index,
                     .gid = qp.local_gid,
                     .gid_text = qp.local_gid_text,
                     .subnet = qp.subnet,
                     .netdev = qp.netdev});
}

void add_remote(Event& event, const state::QpInfo& qp) {
  add_peer(event, {.proc = qp.conn.peer_proc,
                   .gid = qp.remote_gid,
                   .gid_text = qp.remote_gid_text,
                   .subnet = qp.remote_subnet});
}

void add_path(Event& event, const ibv_ah_attr& path) {
  if (path.is_global == 0) event.add("dlid", path.dlid);
  event.add("sl", path.sl);
  if (path.is_global == 0) return;
  event.add("traffic_class", path.grh.traffic_class).add("hop_limit", path.grh.hop_limit);
  if (path.dlid != 0) event.add("dlid", path.dlid);
  if (path.grh.flow_label != 0) event.add("flow_label", path.grh.flow_label);
}

void add_attributes(Event& event, const ibv_qp_attr& attr, int mask) {
  const auto has = [mask](int bit) { return (mask & bit) != 0; };
  if (has(IBV_QP_PATH_MTU)) event.add("path_mtu", mtu_bytes(attr.path_mtu));
  if (has(IBV_QP_PKEY_INDEX)) event.add("pkey_index", attr.pkey_index);
  if (has(IBV_QP_ACCESS_FLAGS)) event.add("access", attr.qp_access_flags);
  if (has(IBV_QP_AV)) add_path(event, attr.ah_attr);
  if (has(IBV_QP_TIMEOUT)) event.add("timeout", attr.timeout);
  if (has(IBV_QP_RETRY_CNT)) event.add("retry_cnt", attr.retry_cnt);
  if (has(IBV_QP_RNR_RETRY)) event.add("rnr_retry", attr.rnr_retry);
  if (has(IBV_QP_MIN_RNR_TIMER)) event.add("min_rnr_timer", attr.min_rnr_timer);
  if (has(IBV_QP_SQ_PSN)) event.add("sq_psn", attr.sq_psn);
  if (has(IBV_QP_RQ_PSN)) event.add("rq_psn", attr.rq_psn);
  if (has(IBV_QP_MAX_QP_RD_ATOMIC)) event.add("max_rd_atomic", attr.max_rd_atomic);
  if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) event.add("max_dest_rd_atomic", attr.max_dest_rd_atomic);
}

void add_effective(Event& event, const ibv_qp_attr& attr) {
  event.object("effective")
      .add("timeout", attr.timeout)
      .add("retry_cnt", attr.retry_cnt)
      .add("rnr_retry", attr.rnr_retry)
      .add("path_mtu", mtu_bytes(attr.path_mtu));
  if (attr.ah_attr.is_global != 0) event.add("traffic_class", attr.ah_attr.grh.traffic_class);
  event.end();
}

// Of what went well: a connection's own events tell it, and nobody else a QP without one.
Weight weight_of(const state::QpInfo& qp) {
  return qp.conn.id != 0 ? Weight::kStep : Weight::kNews;
}

// NCCL may try for a minute, and it will not work: there is no route, or the two addresses were
// found not to fit.
bool is_certain(int error, nccl_net_diag::Cause cause) {
  return error == ENETUNREACH || error == EHOSTUNREACH || cause != diagnosis::qp_cause(error);
}

}  // namespace

void tell_create(const state::QpInfo& qp, int type, const ibv_qp_cap& cap, int error,
                 std::int64_t dur_us) {
  Event event(EventId::kQpCreate, error == 0 ? Severity::kInfo : Severity::kWarn, weight_of(qp));
  if (!event.enabled()) return;
  add_connection(event, qp.conn, qp.owner);
  add_device(event, {.name = qp.device});
  event.object("qp");
  if (error == 0) event.add("num", qp.num);
  event.add("type", qp_type_name(type))
      .add("max_send_wr", cap.max_send_wr)
      .add("max_recv_wr", cap.max_recv_wr)
      .add("max_send_sge", cap.max_send_sge)
      .add("max_recv_sge", cap.max_recv_sge)
      .add("max_inline", cap.max_inline_data)
      .end();
  event.add("dur_us", dur_us);
  add_errno(event, error);
  if (error != 0) {
    const state::Failure failure = register_failed_create(qp, error);
    event.diagnose(failure.diagnosis, failure.number);
  }
  event.emit();
}

void tell_move(const state::QpInfo& qp, const ibv_qp_attr& attr, int mask, const Move& move) {
  const bool failed = move.error != 0;
  const bool news = move.attempt == 1 || move.error != move.last_errno;
  if (failed && !news && !std::has_single_bit(move.attempt) &&
      !is_last_attempt(move.error, move.attempt))
    return;
  const bool step = !failed && move.attempt == 1 && !move.by_recovery && !move.has_effective;
  Event event(EventId::kQpTransition,
              failed && news && !move.refused ? Severity::kWarn : Severity::kInfo,
              step ? weight_of(qp) : Weight::kNews);
  if (!event.enabled()) return;
  add_connection(event, qp.conn, move.by_recovery ? "recovery" : qp.owner);
  add_local(event, qp);
  add_remote(event, qp);
  event.object("qp").add("num", qp.num);
  if (qp.remote_num != 0) event.add("remote_num", qp.remote_num);
  event.add("from", state::qp_state_name(move.from)).add("to", state::qp_state_name(move.to));
  event.add("attempt", move.attempt);
  add_attributes(event, attr, mask);
  if (move.has_effective) add_effective(event, move.effective);
  if (move.refused) event.add("refused", true);
  event.end().add("rc", move.rc).add("dur_us", move.dur_us);
  add_errno(event, move.error);
  if (failed && news && !move.refused) {
    const bool on_the_way = move.to == IBV_QPS_RTR && diagnosis::about_reach(move.error);
    const diagnosis::Path path = on_the_way ? path_of(qp) : diagnosis::Path();
    add_path(event, path);
    const state::Failure failure = register_failed_move(
        qp, {move.from, move.to, move.error, move.attempt, move.dur_us, verdict_of(qp), path});
    event.diagnose(failure.diagnosis, failure.number);
    event.lasts(on_the_way && is_certain(move.error, failure.diagnosis.cause));
  } else if (failed) {
    // Told already, by the first attempt or by the policy.
    if (const auto failure = state::failure_of_call(qp.conn.id))
      event.of_failure(failure->diagnosis.cause, failure->number);
  }
  event.emit();
}

namespace {

// Device, port and what was asked of it.
using AttributeSet = std::tuple<const ibv_context*, unsigned, int, int, int, int, int>;

context::ForkMutex g_read_back_mutex;
std::vector<AttributeSet>& read_back_sets() {
  static context::Immortal<std::vector<AttributeSet>> sets;
  return *sets;
}

}  // namespace

void read_back(const Library& lib, ibv_qp& qp, const ibv_qp_attr& attr, const state::QpInfo& info,
               Move& move) {
  if (lib.real.query_qp == nullptr) return;
  const AttributeSet set{qp.context,     info.port,     attr.timeout,      attr.retry_cnt,
                         attr.rnr_retry, info.path_mtu, info.traffic_class};
  {
    const std::lock_guard lock(g_read_back_mutex);
    auto& sets = read_back_sets();
    if (std::find(sets.begin(), sets.end(), set) != sets.end()) return;
    sets.push_back(set);
  }
  ibv_qp_init_attr unused{};
  move.has_effective = lib.real.query_qp(&qp, &move.effective,
                                         IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                             IBV_QP_PATH_MTU | IBV_QP_AV,
                                         &unused) == 0;
}

void forget_read_back(const ibv_context* context) {
  const std::lock_guard lock(g_read_back_mutex);
  std::erase_if(read_back_sets(), [&](const auto& set) { return std::get<0>(set) == context; });
}

void tell_destroy(state::Qp& record, int error, std::int64_t dur_us) {
  state::QpInfo qp;
  {
    const std::lock_guard lock(record.mutex);
    qp = record.info;
  }
  const auto count = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  const bool step = error == 0 && qp.last_errno == 0 && count(record.failed) == 0;
  Event event(EventId::kQpDestroy, Severity::kInfo, step ? weight_of(qp) : Weight::kNews);
  if (!event.enabled()) return;
  add_connection(event, qp.conn, qp.owner);
  add_device(event, {.name = qp.device,
                     .port = qp.port,
                     .gid_index = qp.gid_index,
                     .gid = qp.local_gid,
                     .gid_text = qp.local_gid_text});
  event.object("qp").add("num", qp.num);
  event.add("sends", count(record.sends))
      .add("recvs", count(record.recvs))
      .add("completed", count(record.completed))
      .add("failed", count(record.failed));
  if (const std::uint64_t last = count(record.last_success); last != 0)
    event.add("last_success_age_us", age_us(last));
  if (qp.last_errno != 0)  // it was never moved on
    event.add("from", state::qp_state_name(qp.from))
        .add("to", state::qp_state_name(qp.to))
        .add("attempt", qp.attempts)
        .add("last_errno", qp.last_errno);
  event.end().add("dur_us", dur_us);
  add_errno(event, error);
  event.emit();
}

}  // namespace nnd::verbs
