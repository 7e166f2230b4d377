#include "softverbs/verbs/completion.h"

#include <unistd.h>

#include <algorithm>

#include "softverbs/verbs/requester.h"
#include "softverbs/verbs/responder.h"

namespace softverbs {

namespace {

// The pipe behind async_fd: at most as many events as it holds; more are lost, as a real HCA's are.
void raise(Context& context, const ibv_async_event& event) {
  [[maybe_unused]] const ssize_t written = ::write(context.event_write, &event, sizeof event);
}

}  // namespace

std::uint32_t vendor_error(const Qp& qp, int status) {
  if (qp.local && qp.local.hca->look != Look::kMlx5) return 0;
  switch (status) {  // the syndromes that mlx5 users see in the field
    case IBV_WC_LOC_PROT_ERR:
      return 0x51;
    case IBV_WC_WR_FLUSH_ERR:
      return 0xf9;
    case IBV_WC_REM_INV_REQ_ERR:
      return 0x8a;
    case IBV_WC_REM_ACCESS_ERR:
      return 0x88;
    case IBV_WC_REM_OP_ERR:
      return 0x89;
    case IBV_WC_RETRY_EXC_ERR:
      return 0x81;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return 0x97;
    default:
      return 0;
  }
}

void push_completion(Engine& engine, Cq& cq, const ibv_wc& wc, Qp& qp, bool send,
                     std::uint64_t released) {
  if (cq.overrun) return;
  const std::uint64_t at = cq.produced.load(std::memory_order_relaxed);
  if (at - cq.polled.load(std::memory_order_acquire) >= cq.ring.size()) {
    cq.overrun = true;
    raise_cq_event(cq, IBV_EVENT_CQ_ERR);
    Context& context = *qp.context;
    for (Qp* other : std::set<Qp*>(context.qps))
      if (other->send_cq == &cq || other->recv_cq == &cq) to_error(engine, *other);
    return;
  }
  CqEntry& entry = cq.ring[at & (cq.ring.size() - 1)];
  entry.wc = wc;
  entry.qp = &qp;
  entry.send = send;
  entry.index = released;
  cq.produced.store(at + 1, std::memory_order_release);
}

void forget_completions(Cq& cq, const Qp& qp) {
  const std::scoped_lock polling(cq.poll_lock);
  const std::uint64_t mask = cq.ring.size() - 1;
  const std::uint64_t end = cq.produced.load();
  std::uint64_t kept = cq.polled.load();
  for (std::uint64_t i = kept; i < end; ++i)
    if (cq.ring[i & mask].qp != &qp) cq.ring[kept++ & mask] = cq.ring[i & mask];
  cq.produced.store(kept);
}

void raise_port_event(Context& context, int event, int port) {
  ibv_async_event out{};
  out.event_type = static_cast<ibv_event_type>(event);
  out.element.port_num = port;
  raise(context, out);
}

void raise_qp_event(Qp& qp, int event) {
  ibv_async_event out{};
  out.event_type = static_cast<ibv_event_type>(event);
  out.element.qp = &qp.qp;
  raise(*qp.context, out);
}

void raise_cq_event(Cq& cq, int event) {
  ibv_async_event out{};
  out.event_type = static_cast<ibv_event_type>(event);
  out.element.cq = &cq.cq;
  raise(*context_of(cq.cq.context), out);
}

void flush_receives(Engine& engine, Qp& qp) {
  while (qp.rq_taken < qp.rq.posted.load(std::memory_order_acquire)) {
    const std::uint64_t index = qp.rq_taken++;
    ibv_wc wc{};
    wc.wr_id = qp.rq.at(index).wr_id;
    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.opcode = IBV_WC_RECV;
    wc.vendor_err = vendor_error(qp, wc.status);
    wc.qp_num = qp.qp.qp_num;
    push_completion(engine, *qp.recv_cq, wc, qp, false, index + 1);
  }
}

void to_error(Engine& engine, Qp& qp) {
  if (qp.state.load() == IBV_QPS_ERR) return;
  qp.state.store(IBV_QPS_ERR);
  qp.qp.state = IBV_QPS_ERR;
  engine.qp_state_changed(qp);
}

}  // namespace softverbs
