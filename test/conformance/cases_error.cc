#include <cerrno>

#include "conformance/cases.h"

namespace conformance {

namespace {

Send write_of(const Pair& pair, std::size_t length) {
  Send send;
  send.sges = {pair.a.sge(0, length)};
  send.remote = pair.b.address(0);
  send.rkey = pair.b.mr->rkey;
  return send;
}

// Reads the peer's event, so that destroying its QP need not wait for us.
std::string expect_event(Bench& bench, int type) {
  auto event = next_event(bench.context);
  if (!event) return "no async event came";
  const int got = event->event_type;
  verbs().ack_async_event(&*event);
  return expect_number("event", type, got);
}

// Posts, and expects the status at the sender and the event at the receiver.
std::string refused(Bench& bench, Pair& pair, const Send& send, int status, int event) {
  if (const int e = post(pair.a.qp, send)) return expect_number("post", 0, e);
  if (auto wrong = expect_completion(pair.a.cq, send.id, status); !wrong.empty()) return wrong;
  return expect_event(bench, event);
}

std::string out_of_bounds(Bench& bench) {
  Pair pair(bench);
  Send send = write_of(pair, 16);
  send.remote = pair.b.address(0) + Pair::kBytes - 8;
  return refused(bench, pair, send, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

std::string wrong_rkey(Bench& bench) {
  Pair pair(bench);
  Send send = write_of(pair, 16);
  send.rkey ^= 0x5a00;
  return refused(bench, pair, send, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

std::string region_without_write(Bench& bench) {
  Pair pair(bench, {}, true, IBV_ACCESS_LOCAL_WRITE);
  return refused(bench, pair, write_of(pair, 16), IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

std::string region_without_read(Bench& bench) {
  Pair pair(bench, {}, true, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  Send send = write_of(pair, 16);
  send.opcode = IBV_WR_RDMA_READ;
  return refused(bench, pair, send, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

std::string qp_without_write(Bench& bench) {
  QpOptions options;
  options.access = IBV_ACCESS_LOCAL_WRITE;
  Pair pair(bench, options);
  return refused(bench, pair, write_of(pair, 16), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

std::string wrong_lkey(Bench& bench) {
  Pair pair(bench);
  Send good = write_of(pair, 16);
  Send bad = good;
  bad.id = 2;
  bad.sges[0].lkey ^= 0x5a00;
  post(pair.a.qp, good);
  post(pair.a.qp, bad);
  if (auto wrong = expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS); !wrong.empty()) return wrong;
  return expect_completion(pair.a.cq, 2, IBV_WC_LOC_PROT_ERR);
}

std::string receive_too_small(Bench& bench) {
  Pair pair(bench);
  post_receive(pair.b.qp, 9, {pair.b.sge(0, 8)});
  Send send;
  send.opcode = IBV_WR_SEND;
  send.sges = {pair.a.sge(0, 64)};
  if (auto wrong = refused(bench, pair, send, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
      !wrong.empty())
    return wrong;
  return expect_completion(pair.b.cq, 9, IBV_WC_LOC_LEN_ERR);
}

std::string flush(Bench& bench) {
  Pair pair(bench);
  post_receive(pair.b.qp, 4, {pair.b.sge(0, 8)});
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  verbs().modify_qp(pair.b.qp, &attr, IBV_QP_STATE);
  if (auto wrong = expect_completion(pair.b.cq, 4, IBV_WC_WR_FLUSH_ERR); !wrong.empty())
    return wrong;
  post_receive(pair.b.qp, 5, {pair.b.sge(0, 8)});
  if (auto wrong = expect_completion(pair.b.cq, 5, IBV_WC_WR_FLUSH_ERR); !wrong.empty())
    return wrong;
  Send send;
  send.id = 6;
  send.flags = 0;  // failures always complete
  send.sges = {pair.b.sge(0, 8)};
  post(pair.b.qp, send);
  return expect_completion(pair.b.cq, 6, IBV_WC_WR_FLUSH_ERR);
}

std::string behind_a_failure(Bench& bench) {
  Pair pair(bench);
  Send bad = write_of(pair, 16);
  bad.rkey ^= 0x5a00;
  Send behind = write_of(pair, 16);
  behind.id = 2;
  behind.flags = 0;
  post(pair.a.qp, bad);
  post(pair.a.qp, behind);
  if (auto wrong = expect_completion(pair.a.cq, 1, IBV_WC_REM_ACCESS_ERR); !wrong.empty())
    return wrong;
  if (auto wrong = expect_event(bench, IBV_EVENT_QP_ACCESS_ERR); !wrong.empty()) return wrong;
  return expect_completion(pair.a.cq, 2, IBV_WC_WR_FLUSH_ERR);
}

std::string no_receive(Bench& bench) {
  QpOptions options;
  options.rnr_retry = 1;
  options.rnr_timer = 1;
  Pair pair(bench, options);
  Send send;
  send.opcode = IBV_WR_SEND;
  send.sges = {pair.a.sge(0, 8)};
  post(pair.a.qp, send);
  return expect_completion(pair.a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
}

std::string peer_gone(Bench& bench) {
  QpOptions options;
  options.timeout = 8;  // about 1 ms
  options.retry = 2;
  Pair pair(bench, options);
  pair.b.destroy_qp();
  post(pair.a.qp, write_of(pair, 16));
  const auto wc = next(pair.a.cq);
  if (!wc) return "no completion came";
  if (wc->status != IBV_WC_RETRY_EXC_ERR)
    return expect_number("status", IBV_WC_RETRY_EXC_ERR, wc->status);
  constexpr std::uint32_t kMellanox = 0x02c9;
  if (bench.device.vendor_id != kMellanox) return "";
  return expect_number("vendor_err", 129, wc->vendor_err);
}

std::string overrun(Bench& bench) {
  Pair pair(bench, {}, true, kAllAccess, 4);  // drivers round up, but not to 16
  for (std::uint64_t i = 0; i < 16; ++i) post(pair.a.qp, write_of(pair, 8));
  if (auto wrong = expect_event(bench, IBV_EVENT_CQ_ERR); !wrong.empty()) return wrong;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  verbs().query_qp(pair.a.qp, &attr, IBV_QP_STATE, &init);
  return expect_number("state", IBV_QPS_ERR, attr.qp_state);
}

std::string full_queue(Bench& bench) {
  Pair pair(bench);
  ibv_qp_init_attr init{};
  ibv_qp_attr attr{};
  verbs().query_qp(pair.a.qp, &attr, IBV_QP_CAP, &init);
  Send send = write_of(pair, 8);
  send.flags = 0;  // nothing is given back without a polled completion
  for (std::uint32_t i = 0; i < init.cap.max_send_wr; ++i)
    if (const int e = post(pair.a.qp, send)) return expect_number("post", 0, e);
  return expect_number("errno", ENOMEM, post(pair.a.qp, send));
}

std::string too_many_places(Bench& bench) {
  Pair pair(bench);
  Send send = write_of(pair, 8);
  send.sges.assign(30, pair.a.sge(0, 8));
  return expect_number("errno", EINVAL, post(pair.a.qp, send));
}

std::string too_long_inline(Bench& bench) {
  Pair pair(bench);
  Send send = write_of(pair, 4096);
  send.flags |= IBV_SEND_INLINE;
  return expect_number("errno", EINVAL, post(pair.a.qp, send));
}

std::string remote_without_local(Bench& bench) {
  ibv_pd* pd = verbs().alloc_pd(bench.context);
  char memory[64];
  ibv_mr* mr = verbs().reg_mr(pd, memory, sizeof memory, IBV_ACCESS_REMOTE_WRITE);
  const int error = errno;
  if (mr) verbs().dereg_mr(mr);
  verbs().dealloc_pd(pd);
  return mr ? "it was registered" : expect_number("errno", EINVAL, error);
}

std::string unmapped(Bench& bench) {
  ibv_pd* pd = verbs().alloc_pd(bench.context);
  ibv_mr* mr = verbs().reg_mr(pd, reinterpret_cast<void*>(0x1000), 4096, IBV_ACCESS_LOCAL_WRITE);
  const int error = errno;
  if (mr) verbs().dereg_mr(mr);
  verbs().dealloc_pd(pd);
  return mr ? "it was registered" : expect_number("errno", EFAULT, error);
}

std::string busy(Bench& bench) {
  Pair pair(bench);
  if (const int e = verbs().destroy_cq(pair.a.cq); e != EBUSY) return expect_number("CQ", EBUSY, e);
  return expect_number("PD", EBUSY, verbs().dealloc_pd(pair.pd));
}

std::string gid_beyond(Bench& bench) {
  ibv_gid gid;
  const int result = verbs().query_gid(bench.context, bench.port.port, 100000, &gid);
  return result == 0 ? "it was answered" : "";
}

std::string dmabuf_without_fd(Bench& bench) {
  if (!verbs().reg_dmabuf_mr) return "";
  ibv_pd* pd = verbs().alloc_pd(bench.context);
  errno = 0;
  ibv_mr* mr = verbs().reg_dmabuf_mr(pd, 0, 0, 0, -1, 0);
  const int error = errno;
  verbs().dealloc_pd(pd);
  if (mr) return "it was registered";
  const bool known =
      error == EBADF || error == EOPNOTSUPP || error == EPROTONOSUPPORT || error == EINVAL;
  return known ? "" : expect_number("errno", EBADF, error);
}

}  // namespace

const std::vector<Case>& error_cases() {
  static const std::vector<Case> cases = {
      {"error.bounds", "write beyond the region: REM_ACCESS_ERR, QP_ACCESS_ERR at the peer",
       out_of_bounds},
      {"error.rkey", "write with a wrong rkey: REM_ACCESS_ERR", wrong_rkey},
      {"error.region-write", "write to a region without REMOTE_WRITE: REM_ACCESS_ERR",
       region_without_write},
      {"error.region-read", "read from a region without REMOTE_READ: REM_ACCESS_ERR",
       region_without_read},
      {"error.qp-write", "write to a QP without REMOTE_WRITE: REM_INV_REQ_ERR", qp_without_write},
      {"error.lkey", "wrong lkey: LOC_PROT_ERR, behind the success of what was posted before",
       wrong_lkey},
      {"error.length", "send longer than its receive: REM_INV_REQ_ERR, and LOC_LEN_ERR there",
       receive_too_small},
      {"error.flush", "in ERR all receives and sends complete with WR_FLUSH_ERR", flush},
      {"error.behind", "what was posted behind a failure is flushed, signalled or not",
       behind_a_failure},
      {"error.rnr", "no receive and rnr_retry 1: RNR_RETRY_EXC_ERR", no_receive},
      {"error.gone", "the peer's QP is gone: RETRY_EXC_ERR; mlx5: vendor_err 129", peer_gone},
      {"error.overrun", "more completions than the CQ holds: CQ_ERR, and its QPs in ERR", overrun},
      {"error.full", "one request more than max_send_wr: ENOMEM", full_queue},
      {"error.places", "more places than max_send_sge: EINVAL", too_many_places},
      {"error.inline", "inline data longer than max_inline_data: EINVAL", too_long_inline},
      {"error.rights", "REMOTE_WRITE without LOCAL_WRITE: EINVAL", remote_without_local},
      {"error.unmapped", "a region where no memory is: EFAULT", unmapped},
      {"error.busy", "destroying a CQ or PD in use: EBUSY", busy},
      {"error.gid", "a GID index beyond the table: an error", gid_beyond},
      {"error.dmabuf", "ibv_reg_dmabuf_mr with fd -1: EBADF, or not supported", dmabuf_without_fd},
  };
  return cases;
}

}  // namespace conformance
