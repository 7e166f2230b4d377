// Completion queues and QPs: made, asked, destroyed.
#include <cerrno>
#include <cstring>

#include "softverbs/verbs/completion.h"
#include "softverbs/verbs/exports.h"
#include "softverbs/verbs/requester.h"

using namespace softverbs;

namespace {

const Hca& hca_of(const ibv_context* context) {
  return *context_of(const_cast<ibv_context*>(context))->device->hca;
}

// Destroying an object waits until every event of it that was handed out is acknowledged.
void wait_for_acknowledgements(EventCount& events) {
  for (auto seen = events.acknowledged.load(); seen < events.delivered.load();
       seen = events.acknowledged.load())
    events.acknowledged.wait(seen);
}

bool caps_fit(const ibv_qp_cap& cap) {
  return cap.max_send_wr <= kMaxQpWr && cap.max_recv_wr <= kMaxQpWr &&
         cap.max_send_sge <= kMaxSge && cap.max_recv_sge <= kMaxSge &&
         cap.max_inline_data <= kMaxInline;
}

}  // namespace

namespace softverbs {

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr& init) {
  if (const int error = injected("ibv_create_qp", hca_of(pd->context))) return fail_with(error);
  if (!init.send_cq || !init.recv_cq || !caps_fit(init.cap)) return fail_with(EINVAL);
  if (init.srq || (init.qp_type != IBV_QPT_RC && init.qp_type != IBV_QPT_UC))
    return fail_with(EOPNOTSUPP);
  auto* qp = new Qp();
  qp->context = context_of(pd->context);
  qp->pd = pd_of(pd);
  qp->send_cq = cq_of(init.send_cq);
  qp->recv_cq = cq_of(init.recv_cq);
  qp->signal_all = init.sq_sig_all != 0;
  qp->sq.size(init.cap.max_send_wr, init.cap.max_send_sge);
  qp->rq.size(init.cap.max_recv_wr, init.cap.max_recv_sge);
  init.cap.max_send_wr = qp->sq.slots;
  init.cap.max_recv_wr = qp->rq.slots;
  qp->cap = init.cap;
  qp->inline_store.resize(static_cast<std::size_t>(qp->sq.slots) * init.cap.max_inline_data);
  if (hca_of(pd->context).ece) qp->ece = {0x15b3, 0x30000002, 0};
  ibv_qp& handle = qp->qp;
  handle.context = pd->context;
  handle.qp_context = init.qp_context;
  handle.pd = pd;
  handle.send_cq = init.send_cq;
  handle.recv_cq = init.recv_cq;
  handle.state = IBV_QPS_RESET;
  handle.qp_type = init.qp_type;
  ::pthread_mutex_init(&handle.mutex, nullptr);
  ::pthread_cond_init(&handle.cond, nullptr);
  Engine& engine = Engine::get();
  const Engine::Hold hold(engine);
  handle.qp_num = engine.add_qp(*qp);
  if (handle.qp_num == 0) {
    delete qp;
    return fail_with(ENOMEM);
  }
  handle.handle = handle.qp_num;
  ++qp->pd->users;
  ++qp->send_cq->users;
  ++qp->recv_cq->users;
  qp->context->qps.insert(qp);
  expect_events(qp);
  return &handle;
}

}  // namespace softverbs

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                      ibv_comp_channel* channel, int vector) {
  if (const int error = injected("ibv_create_cq", hca_of(context))) return fail_with(error);
  if (entries < 1 || entries > kMaxCqe || vector < 0 || vector >= context->num_comp_vectors)
    return fail_with(EINVAL);
  if (channel) return fail_with(EOPNOTSUPP);  // completion events: NCCL has no use for them
  auto* cq = new Cq();
  std::size_t slots = 1;
  while (slots < static_cast<std::size_t>(entries) + 1) slots *= 2;
  cq->ring.resize(slots);
  cq->cq.context = context;
  cq->cq.cq_context = cq_context;
  cq->cq.cqe = static_cast<int>(slots) - 1;
  ::pthread_mutex_init(&cq->cq.mutex, nullptr);
  ::pthread_cond_init(&cq->cq.cond, nullptr);
  expect_events(cq);
  return &cq->cq;
}

int ibv_destroy_cq(ibv_cq* handle) {
  Cq* cq = cq_of(handle);
  if (const int error = injected("ibv_destroy_cq", hca_of(handle->context))) return error;
  {
    const Engine::Hold hold(Engine::get());
    if (cq->users > 0) return EBUSY;
    forget_events(cq);
  }
  wait_for_acknowledgements(cq->events);
  delete cq;
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) { return create_qp(pd, *init); }

int ibv_destroy_qp(ibv_qp* handle) {
  Qp* qp = qp_of(handle);
  if (const int error = injected("ibv_destroy_qp", hca_of(handle->context))) return error;
  {
    Engine& engine = Engine::get();
    const Engine::Hold hold(engine);
    engine.remove_qp(*qp);
    qp->context->qps.erase(qp);
    --qp->pd->users;
    --qp->send_cq->users;
    --qp->recv_cq->users;
    forget_events(qp);
  }
  wait_for_acknowledgements(qp->events);
  delete qp;
  return 0;
}

int ibv_modify_qp(ibv_qp* handle, ibv_qp_attr* attr, int mask) {
  if (const int error = injected("ibv_modify_qp", hca_of(handle->context))) return error;
  return modify_qp(*qp_of(handle), *attr, mask);
}

int ibv_query_qp(ibv_qp* handle, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  if (const int error = injected("ibv_query_qp", hca_of(handle->context))) return error;
  Qp& qp = *qp_of(handle);
  const Engine::Hold hold(Engine::get());
  *attr = qp.attr;
  attr->qp_state = attr->cur_qp_state = qp.state.load();
  attr->cap = qp.cap;
  *init = {};
  init->qp_context = handle->qp_context;
  init->send_cq = handle->send_cq;
  init->recv_cq = handle->recv_cq;
  init->cap = qp.cap;
  init->qp_type = handle->qp_type;
  init->sq_sig_all = qp.signal_all ? 1 : 0;
  return 0;
}

int ibv_query_ece(ibv_qp* handle, ibv_ece* ece) {
  const Hca& hca = hca_of(handle->context);
  if (const int error = injected("ibv_query_ece", hca)) return error;
  if (!hca.ece) return EOPNOTSUPP;
  *ece = qp_of(handle)->ece;
  return 0;
}

int ibv_set_ece(ibv_qp* handle, ibv_ece* ece) {
  const Hca& hca = hca_of(handle->context);
  if (const int error = injected("ibv_set_ece", hca)) return error;
  if (!hca.ece) return EOPNOTSUPP;
  if (ece->vendor_id != 0 && ece->vendor_id != qp_of(handle)->ece.vendor_id) return EINVAL;
  qp_of(handle)->ece.options &= ece->options;
  return 0;
}

}  // extern "C"
