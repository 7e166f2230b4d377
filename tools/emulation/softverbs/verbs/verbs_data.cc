// The data path: what is reached through context->ops. No lock beyond the queue's spin lock, and no
// system call unless the engine sleeps.
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "softverbs/verbs/exports.h"
#include "softverbs/verbs/faults.h"

namespace softverbs {

namespace {

constexpr unsigned kOpcodes = 1U << IBV_WR_RDMA_WRITE | 1U << IBV_WR_RDMA_WRITE_WITH_IMM |
                              1U << IBV_WR_SEND | 1U << IBV_WR_SEND_WITH_IMM |
                              1U << IBV_WR_RDMA_READ | 1U << IBV_WR_ATOMIC_CMP_AND_SWP |
                              1U << IBV_WR_ATOMIC_FETCH_AND_ADD;

constexpr unsigned kPollsPerYield = 256;
thread_local unsigned empty_polls = 0;

bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

void copy_inline(const ibv_send_wr& wr, char* to) {
  for (int i = 0; i < wr.num_sge; ++i) {
    std::memcpy(to, reinterpret_cast<const void*>(wr.sg_list[i].addr), wr.sg_list[i].length);
    to += wr.sg_list[i].length;
  }
}

int take_send(Qp& qp, const ibv_send_wr& wr) {
  const ibv_qp_state state = qp.state.load(std::memory_order_relaxed);
  if (state < IBV_QPS_RTS) return EINVAL;
  if (static_cast<unsigned>(wr.opcode) > 31 || !(kOpcodes >> wr.opcode & 1)) return EINVAL;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > qp.sq.max_sge) return EINVAL;
  if (qp.sq.full()) return ENOMEM;
  const std::uint64_t index = qp.sq.posted.load(std::memory_order_relaxed);
  SendWqe& wqe = qp.sq.at(index);
  wqe.wr_id = wr.wr_id;
  wqe.opcode = wr.opcode;
  wqe.flags = wr.send_flags;
  wqe.imm = wr.imm_data;
  wqe.sges = wr.num_sge;
  wqe.inline_bytes = 0;
  if (is_atomic(wr.opcode)) {
    wqe.remote_addr = wr.wr.atomic.remote_addr;
    wqe.rkey = wr.wr.atomic.rkey;
    wqe.compare = wr.wr.atomic.compare_add;
    wqe.swap = wr.wr.atomic.swap;
  } else {
    wqe.remote_addr = wr.wr.rdma.remote_addr;
    wqe.rkey = wr.wr.rdma.rkey;
  }
  std::uint64_t length = 0;
  ibv_sge* sges = qp.sq.sges_at(index);
  for (int i = 0; i < wr.num_sge; ++i) {
    sges[i] = wr.sg_list[i];
    length += sges[i].length;
  }
  if (length > UINT32_MAX || (is_atomic(wr.opcode) && length != 8)) return EINVAL;
  wqe.length = static_cast<std::uint32_t>(length);
  if (wr.send_flags & IBV_SEND_INLINE) {
    if (length > qp.cap.max_inline_data) return EINVAL;
    copy_inline(wr, qp.inline_at(index));
    wqe.inline_bytes = wqe.length;
    wqe.sges = 0;
  }
  qp.sq.posted.store(index + 1, std::memory_order_release);
  return 0;
}

int take_receive(Qp& qp, const ibv_recv_wr& wr) {
  if (qp.state.load(std::memory_order_relaxed) == IBV_QPS_RESET) return EINVAL;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > qp.rq.max_sge) return EINVAL;
  if (qp.rq.full()) return ENOMEM;
  const std::uint64_t index = qp.rq.posted.load(std::memory_order_relaxed);
  RecvWqe& wqe = qp.rq.at(index);
  wqe.wr_id = wr.wr_id;
  wqe.sges = wr.num_sge;
  std::copy_n(wr.sg_list, wr.num_sge, qp.rq.sges_at(index));
  qp.rq.posted.store(index + 1);
  return 0;
}

int injected_post(const char* verb, const ibv_qp* handle) {
  if (!Engine::get().faults().fails_posts()) return 0;
  return injected(verb, *context_of(handle->context)->device->hca);
}

}  // namespace

int post_send(ibv_qp* handle, ibv_send_wr* wr, ibv_send_wr** bad) {
  Qp& qp = *qp_of(handle);
  Engine& engine = Engine::get();
  int error = injected_post("ibv_post_send", handle);
  if (error) {
    *bad = wr;
    return error;
  }
  {
    const std::scoped_lock lock(qp.sq.lock);
    for (; wr && error == 0; wr = error ? wr : wr->next) error = take_send(qp, *wr);
  }
  if (error) *bad = wr;
  engine.queue(qp);
  return error;
}

int post_recv(ibv_qp* handle, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Qp& qp = *qp_of(handle);
  int error = injected_post("ibv_post_recv", handle);
  if (error) {
    *bad = wr;
    return error;
  }
  {
    const std::scoped_lock lock(qp.rq.lock);
    for (; wr && error == 0; wr = error ? wr : wr->next) error = take_receive(qp, *wr);
  }
  if (error) *bad = wr;
  if (qp.starving.load() || qp.state.load(std::memory_order_relaxed) == IBV_QPS_ERR)
    Engine::get().queue(qp);
  return error;
}

int poll_cq(ibv_cq* handle, int max, ibv_wc* wc) {
  Cq& cq = *cq_of(handle);
  if (cq.produced.load(std::memory_order_acquire) == cq.polled.load(std::memory_order_relaxed)) {
    // Whoever spins here waits for an engine thread, which may need this very core.
    if (++empty_polls % kPollsPerYield == 0) ::sched_yield();
    return 0;
  }
  const std::scoped_lock lock(cq.poll_lock);
  const std::uint64_t end = cq.produced.load(std::memory_order_acquire);
  std::uint64_t at = cq.polled.load(std::memory_order_relaxed);
  int count = 0;
  while (count < max && at < end) {
    const CqEntry& entry = cq.ring[at++ & (cq.ring.size() - 1)];
    wc[count++] = entry.wc;
    (entry.send ? entry.qp->sq.released : entry.qp->rq.released).store(entry.index);
  }
  cq.polled.store(at, std::memory_order_release);
  return count;
}

}  // namespace softverbs
