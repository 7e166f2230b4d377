// ibv_create_qp, ibv_modify_qp, ibv_query_qp, ibv_destroy_qp and mlx5dv_create_qp.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>

#include "context/quiet.h"
#include "facts/counters.h"
#include "state/failure.h"
#include "verbs/clock.h"
#include "verbs/conn_entry.h"
#include "verbs/fields.h"
#include "verbs/gid.h"
#include "verbs/handlers.h"
#include "verbs/hooks.h"
#include "verbs/qp_events.h"

namespace nnd::verbs {
namespace {

// Who made a QP outside of a connection of ours.
std::string_view owner_of(const Library& lib, const state::CallContext& now) {
  if (now.conn.id != 0) return {};
  if (now.call == state::Call::kGin) return "gin";
  return lib.origin == Origin::kPlain ? "gdaki" : "unknown";
}

struct Asked {
  ibv_qp_type type;
  ibv_qp_cap cap;
};

void created(const Library& lib, const char* verb, const ibv_qp* qp, const ibv_context* context,
             const Asked& asked, const ibv_qp_cap& got, int error, std::int64_t dur_us) {
  const state::CallContext& now = state::current();
  state::QpInfo info;
  info.conn = now.conn;
  info.owner = owner_of(lib, now);
  info.device = device_name(context);
  if (qp == nullptr) {
    note_failure(verb, error);
    tell_create(info, asked.type, asked.cap, error, dur_us);
    return;
  }
  info.num = qp->qp_num;
  add_to_entry(info);
  tell_create(info, asked.type, got, 0, dur_us);
  state::qp_table().add(qp, context, qp->qp_num, std::move(info));
}

int error_of(int rc) noexcept { return rc == 0 ? 0 : rc == -1 ? errno : rc < 0 ? -rc : rc; }

// What the mask sets of the attributes that name the other end.
void learn(const Library& lib, const ibv_qp& qp, const ibv_qp_attr& attr, int mask,
           state::QpInfo& info) {
  if ((mask & IBV_QP_PORT) != 0) info.port = attr.port_num;
  if ((mask & IBV_QP_DEST_QPN) != 0) info.remote_num = attr.dest_qp_num;
  if ((mask & IBV_QP_PATH_MTU) != 0) info.path_mtu = attr.path_mtu;
  if ((mask & IBV_QP_TIMEOUT) != 0) info.timeout = attr.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) info.retry_cnt = attr.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) info.rnr_retry = attr.rnr_retry;
  if ((mask & IBV_QP_AV) == 0) return;
  info.traffic_class = attr.ah_attr.is_global != 0 ? attr.ah_attr.grh.traffic_class : -1;
  info.sl = attr.ah_attr.sl;
  info.gid_index = -1;
  info.local_gid = info.remote_gid = context::Gid{};
  for (auto* text : {&info.local_gid_text, &info.remote_gid_text}) *text = std::string_view();
  for (auto* text : {&info.subnet, &info.remote_subnet}) *text = std::string_view();
  info.netdev = std::string_view();
  if (attr.ah_attr.is_global == 0) return;
  info.gid_index = attr.ah_attr.grh.sgid_index;
  info.remote_gid = raw_of(attr.ah_attr.grh.dgid);
  const unsigned port = attr.ah_attr.port_num != 0 ? attr.ah_attr.port_num : info.port;
  const auto index = static_cast<unsigned>(info.gid_index);
  ibv_gid gid{};
  if (!recall_gid(qp.context, port, index, info.local_gid) && lib.real.query_gid != nullptr &&
      lib.real.query_gid(qp.context, static_cast<std::uint8_t>(port), info.gid_index, &gid) == 0) {
    info.local_gid = raw_of(gid);
    remember_gid(qp.context, port, index, info.local_gid);
  }
  if (!context::gid_zero(info.local_gid)) info.local_gid_text = context::gid_text(info.local_gid);
  if (!context::gid_zero(info.remote_gid))
    info.remote_gid_text = context::gid_text(info.remote_gid);
  learn_subnets(info);
}

// A connection's first move to RTR is where a pair of ports that must not talk is stopped: in
// milliseconds, and before a packet is sent. Live connections (port recovery) are never stopped.
bool refused(const state::QpInfo& info, const Move& move) {
  return move.to == IBV_QPS_RTR && !info.reached_rtr && !hooks().may_pair(info);
}

// The attempt as it was before the real call.
Move begin_move(const Library& lib, const ibv_qp& qp, const ibv_qp_attr& attr, int mask,
                state::Qp& record) {
  Move move;
  move.from = qp.state;
  move.to = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : qp.state;
  const state::CallContext& now = state::current();
  const std::lock_guard lock(record.mutex);
  state::QpInfo& info = record.info;
  // Only NCCL's port recovery (2.30) moves the QP of a live connection, from a thread of its own.
  move.by_recovery = info.conn.id != 0 && info.reached_rtr && now.call == state::Call::kNone;
  if (info.from != move.from || info.to != move.to || info.last_errno == 0) {
    info.from = move.from;
    info.to = move.to;
    info.attempts = 0;
    info.last_errno = 0;
  }
  move.attempt = ++info.attempts;
  move.last_errno = info.last_errno;
  if (move.attempt == 1 || (mask & IBV_QP_AV) != 0) learn(lib, qp, attr, mask, info);
  move.refused = refused(info, move);
  begin_in_entry(info, move.to, move.attempt);
  if (move.to == IBV_QPS_ERR)
    record.told.fetch_or(state::Qp::kFlushTold, std::memory_order_relaxed);
  return move;
}

void end_move(const Library& lib, ibv_qp& qp, const ibv_qp_attr& attr, int mask, state::Qp& record,
              Move& move) {
  state::QpInfo copy;
  {
    const std::lock_guard lock(record.mutex);
    state::QpInfo& info = record.info;
    info.last_errno = move.error;
    info.most_attempts = std::max(info.most_attempts, move.attempt);
    if (const auto to = static_cast<unsigned>(move.to); to < info.spent_us.size()) {
      info.spent_us[to] += static_cast<std::uint32_t>(move.dur_us);
      if (move.error == 0) info.there_ns[to] = static_cast<std::uint64_t>(now_ns());
    }
    if (move.error == 0 && move.to == IBV_QPS_RTR) info.reached_rtr = true;
    if (move.error == 0 && move.to == IBV_QPS_RESET)
      record.told.store(0, std::memory_order_relaxed);
    end_in_entry(info, move.error == 0 ? move.to : move.from);
    copy = info;
  }
  if (move.error != 0) note_failure("ibv_modify_qp", move.error);
  if (move.error == 0 && move.to == IBV_QPS_INIT) facts::count_port(copy.device, copy.port);
  if (!context::gid_zero(copy.remote_gid) && !copy.leads_to_itself())
    state::current().peer_gid = copy.remote_gid;
  if (move.error == 0 && move.to == IBV_QPS_RTS) read_back(lib, qp, attr, copy, move);
  tell_move(copy, attr, mask, move);
  // A move that failed before and works now, and a QP that NCCL brought back.
  if (move.error == 0 && (move.attempt > 1 || (move.by_recovery && move.to == IBV_QPS_RTS)))
    state::end_failure(copy.conn.id);
}

}  // namespace

namespace handlers {

ibv_qp* create_qp(const Library& lib, ibv_pd* pd, ibv_qp_init_attr* attr) {
  const Asked asked{attr->qp_type, attr->cap};
  const std::int64_t start = now_ns();
  ibv_qp* qp = lib.real.create_qp(pd, attr);
  context::quietly([&, error = errno] {
    created(lib, "ibv_create_qp", qp, pd->context, asked, attr->cap, error,
            (now_ns() - start) / 1000);
  });
  return qp;
}

ibv_qp* mlx5_create_qp(const Library& lib, ibv_context* context, ibv_qp_init_attr_ex* attr,
                       mlx5dv_qp_init_attr* mlx5_attr) {
  const Asked asked{attr->qp_type, attr->cap};
  const std::int64_t start = now_ns();
  ibv_qp* qp = lib.real.mlx5_create_qp(context, attr, mlx5_attr);
  context::quietly([&, error = errno] {
    created(lib, "mlx5dv_create_qp", qp, context, asked, attr->cap, error,
            (now_ns() - start) / 1000);
  });
  return qp;
}

int modify_qp(const Library& lib, ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  Move move;
  state::Qp* record = state::find_qp(qp, qp->qp_num);
  if (record != nullptr)
    context::quietly([&] { move = begin_move(lib, *qp, *attr, mask, *record); });
  const std::int64_t start = now_ns();
  // EHOSTUNREACH: not repeated by NCCL, and not blamed on the GID index (src/misc/ibvwrap.cc).
  const int rc = move.refused ? EHOSTUNREACH : lib.real.modify_qp(qp, attr, mask);
  move.error = error_of(rc);
  move.rc = rc;
  move.dur_us = (now_ns() - start) / 1000;
  if (record != nullptr) context::quietly([&] { end_move(lib, *qp, *attr, mask, *record, move); });
  return rc;
}

int query_qp(const Library& lib, ibv_qp* qp, ibv_qp_attr* attr, int mask,
             ibv_qp_init_attr* init_attr) {
  const int rc = lib.real.query_qp(qp, attr, mask, init_attr);
  if (rc != 0) note_failure("ibv_query_qp", error_of(rc));
  return rc;
}

int destroy_qp(const Library& lib, ibv_qp* qp) {
  state::Qp* record = state::find_qp(qp, qp->qp_num);
  // Unlisted before the real call: afterwards pointer and number may belong to a new QP at once.
  if (record != nullptr) context::quietly([&] { state::qp_table().unlist(*record); });
  const std::int64_t start = now_ns();
  const int rc = lib.real.destroy_qp(qp);
  context::quietly([&, error = error_of(rc)] {
    if (error != 0) note_failure("ibv_destroy_qp", error);
    if (record == nullptr) return;
    tell_destroy(*record, error, (now_ns() - start) / 1000);
    if (error != 0)
      state::qp_table().relist(*record);
    else
      state::qp_table().release(*record);
  });
  return rc;
}

}  // namespace handlers
}  // namespace nnd::verbs
