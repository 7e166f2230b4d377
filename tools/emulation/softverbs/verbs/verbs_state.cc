// The QP state machine: which transitions there are, which attributes each needs and allows, and
// what their values may be (InfiniBand specification, chapter 10.3; Linux's table of the same).
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "softverbs/verbs/completion.h"
#include "softverbs/verbs/exports.h"
#include "softverbs/verbs/faults.h"
#include "softverbs/verbs/world.h"

namespace softverbs {

namespace {

constexpr int kWhere = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kPath = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kLive = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
                      IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
constexpr int kLiveUc =
    IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr std::uint32_t kQpNumbers = 1U << 24;

struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  int needs;
  int allows;
};

constexpr Transition kRc[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, kWhere, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kWhere},
    {IBV_QPS_INIT, IBV_QPS_RTR, kPath | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS,
     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
     kLive | IBV_QP_RATE_LIMIT},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLive | IBV_QP_RATE_LIMIT},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kLive},
};

constexpr Transition kUc[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, kWhere, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kWhere},
    {IBV_QPS_INIT, IBV_QPS_RTR, kPath, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, kLiveUc},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kLiveUc},
};

bool allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  const int given = mask & ~IBV_QP_STATE;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return given == 0;
  const auto fits = [&](const Transition& t) {
    return t.from == from && t.to == to && (given & t.needs) == t.needs &&
           (given & ~(t.needs | t.allows)) == 0;
  };
  return type == IBV_QPT_UC ? std::any_of(std::begin(kUc), std::end(kUc), fits)
                            : std::any_of(std::begin(kRc), std::end(kRc), fits);
}

bool values_fit(const Qp& qp, const ibv_qp_attr& attr, int mask) {
  const Device& device = *qp.context->device;
  if (mask & IBV_QP_PORT) {
    if (!find_port(device, attr.port_num)) return false;
  }
  const Port* port = find_port(device, mask & IBV_QP_PORT ? attr.port_num : qp.attr.port_num);
  if ((mask & IBV_QP_PKEY_INDEX) && (!port || attr.pkey_index >= port->pkeys.size())) return false;
  if ((mask & IBV_QP_PATH_MTU) && (attr.path_mtu < IBV_MTU_256 || attr.path_mtu > IBV_MTU_4096))
    return false;
  if ((mask & IBV_QP_DEST_QPN) && attr.dest_qp_num >= kQpNumbers) return false;
  if ((mask & IBV_QP_TIMEOUT) && attr.timeout > 31) return false;
  // mlx5 writes the count to a field of three bits; others refuse.
  if ((mask & IBV_QP_RETRY_CNT) && attr.retry_cnt > 7 && device.hca->look != Look::kMlx5)
    return false;
  if ((mask & IBV_QP_RNR_RETRY) && attr.rnr_retry > 7) return false;
  if ((mask & IBV_QP_MIN_RNR_TIMER) && attr.min_rnr_timer > 31) return false;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr.max_rd_atomic > kMaxRdAtomic) return false;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && attr.max_dest_rd_atomic > kMaxRdAtomic) return false;
  return true;
}

void take_values(Qp& qp, const ibv_qp_attr& attr, int mask) {
  ibv_qp_attr& own = qp.attr;
  if (mask & IBV_QP_ACCESS_FLAGS) own.qp_access_flags = attr.qp_access_flags;
  if (mask & IBV_QP_PKEY_INDEX) own.pkey_index = attr.pkey_index;
  if (mask & IBV_QP_PORT) own.port_num = attr.port_num;
  if (mask & IBV_QP_AV) own.ah_attr = attr.ah_attr;
  if (mask & IBV_QP_PATH_MTU) own.path_mtu = attr.path_mtu;
  if (mask & IBV_QP_TIMEOUT) own.timeout = attr.timeout;
  if (mask & IBV_QP_RETRY_CNT) own.retry_cnt = attr.retry_cnt & 7;
  if (mask & IBV_QP_RNR_RETRY) own.rnr_retry = attr.rnr_retry;
  if (mask & IBV_QP_RQ_PSN) own.rq_psn = attr.rq_psn & 0xffffff;
  if (mask & IBV_QP_SQ_PSN) own.sq_psn = attr.sq_psn & 0xffffff;
  if (mask & IBV_QP_MAX_QP_RD_ATOMIC) own.max_rd_atomic = attr.max_rd_atomic;
  if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) own.max_dest_rd_atomic = attr.max_dest_rd_atomic;
  if (mask & IBV_QP_MIN_RNR_TIMER) own.min_rnr_timer = attr.min_rnr_timer;
  if (mask & IBV_QP_DEST_QPN) own.dest_qp_num = attr.dest_qp_num;
  if (mask & IBV_QP_ALT_PATH) own.alt_ah_attr = attr.alt_ah_attr;
  if (mask & IBV_QP_PATH_MIG_STATE) own.path_mig_state = attr.path_mig_state;
}

// Finds the peer, as the kernel does before it lets a RoCE QP into RTR. Takes its time.
int resolve(Qp& qp, const ibv_qp_attr& attr) {
  Engine& engine = Engine::get();
  const Device& device = *qp.context->device;
  const Endpoint local{device.host, device.hca, find_port(device, qp.attr.port_num)};
  Destination to;
  to.global = attr.ah_attr.is_global != 0;
  std::memcpy(to.dgid.data(), attr.ah_attr.grh.dgid.raw, to.dgid.size());
  to.dlid = attr.ah_attr.dlid;
  to.sgid_index = attr.ah_attr.grh.sgid_index;
  Resolution found;
  {
    const Engine::Hold hold(engine);
    found = world().fabric.resolve(local, to, engine.links());
  }
  if (const auto refusal = engine.faults().to_rtr(local, found.peer))
    found = {refusal->error, refusal->delay_ms, {}};
  std::this_thread::sleep_for(std::chrono::milliseconds(found.delay_ms));
  if (found.error) return found.error;
  const Engine::Hold hold(engine);
  qp.local = local;
  qp.peer = found.peer;
  return 0;
}

}  // namespace

int modify_qp(Qp& qp, const ibv_qp_attr& attr, int mask) {
  const ibv_qp_state from = qp.state.load();
  const ibv_qp_state to = mask & IBV_QP_STATE ? attr.qp_state : from;
  if (!allowed(qp.qp.qp_type, from, to, mask) || !values_fit(qp, attr, mask)) return EINVAL;
  if (from == IBV_QPS_INIT && to == IBV_QPS_RTR) {
    if (const int error = resolve(qp, attr)) return error;
  }
  Engine& engine = Engine::get();
  const Engine::Hold hold(engine);
  if (to == IBV_QPS_ERR) {
    to_error(engine, qp);
    return 0;
  }
  take_values(qp, attr, mask);
  if (to == IBV_QPS_RESET) {
    qp.attr = {};
    qp.peer = {};
  }
  if (to == from) return 0;
  qp.state.store(to);
  qp.qp.state = to;
  engine.qp_state_changed(qp);
  return 0;
}

}  // namespace softverbs
