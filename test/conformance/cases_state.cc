#include <cerrno>

#include "conformance/cases.h"

namespace conformance {

namespace {

// A QP of a pair that is not connected yet, moved as far as wanted.
struct Fresh {
  explicit Fresh(Bench& bench, ibv_qp_state state = IBV_QPS_RESET) : pair(bench, {}, false) {
    ibv_qp_attr init = init_attr(bench.port);
    ibv_qp_attr rtr = rtr_attr(bench.port, pair.b.qp->qp_num, {});
    if (state >= IBV_QPS_INIT) verbs().modify_qp(pair.a.qp, &init, kInitMask);
    if (state >= IBV_QPS_RTR) verbs().modify_qp(pair.a.qp, &rtr, kRtrMask);
    if (state >= IBV_QPS_RTS) {
      ibv_qp_attr rts = rts_attr({});
      verbs().modify_qp(pair.a.qp, &rts, kRtsMask);
    }
  }
  int modify(ibv_qp_attr attr, int mask) { return verbs().modify_qp(pair.a.qp, &attr, mask); }
  int to(ibv_qp_state state) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    return modify(attr, IBV_QP_STATE);
  }
  ibv_qp_state state() const {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    verbs().query_qp(pair.a.qp, &attr, IBV_QP_STATE, &init);
    return attr.qp_state;
  }
  Pair pair;
};

// Each attribute that the step needs is left out once; each time the call must fail.
std::string every_attribute(Bench& bench, ibv_qp_state before, const ibv_qp_attr& attr, int mask) {
  for (int bit = 1; bit < 1 << 26; bit <<= 1) {
    if (!(mask & bit) || bit == IBV_QP_STATE) continue;
    Fresh qp(bench, before);
    const int error = qp.modify(attr, mask & ~bit);
    if (error != EINVAL) return "without bit " + std::to_string(bit) + ": " + std::to_string(error);
    if (qp.state() != before) return "the state changed although the call failed";
  }
  return "";
}

std::string extra_attribute(Bench& bench, ibv_qp_state before, const ibv_qp_attr& attr, int mask) {
  Fresh qp(bench, before);
  return expect_number("errno", EINVAL, qp.modify(attr, mask));
}

std::string through_all(Bench& bench) {
  Fresh qp(bench, IBV_QPS_RTS);
  return expect_number("state", IBV_QPS_RTS, qp.state());
}

std::string skipping(Bench& bench) {
  Fresh reset(bench);
  if (const int e = reset.modify(rtr_attr(bench.port, 5, {}), kRtrMask); e != EINVAL)
    return expect_number("RESET to RTR", EINVAL, e);
  if (const int e = reset.modify(rts_attr({}), kRtsMask); e != EINVAL)
    return expect_number("RESET to RTS", EINVAL, e);
  Fresh init(bench, IBV_QPS_INIT);
  return expect_number("INIT to RTS", EINVAL, init.modify(rts_attr({}), kRtsMask));
}

std::string error_and_back(Bench& bench) {
  Fresh qp(bench, IBV_QPS_RTS);
  if (const int e = qp.to(IBV_QPS_ERR)) return expect_number("to ERR", 0, e);
  if (const int e = qp.modify(rts_attr({}), kRtsMask); e != EINVAL)
    return expect_number("ERR to RTS", EINVAL, e);
  if (const int e = qp.to(IBV_QPS_RESET)) return expect_number("ERR to RESET", 0, e);
  if (const int e = qp.modify(init_attr(bench.port), kInitMask))
    return expect_number("RESET to INIT", 0, e);
  return expect_number("state", IBV_QPS_INIT, qp.state());
}

std::string wrong_port(Bench& bench) {
  Fresh qp(bench);
  ibv_qp_attr attr = init_attr(bench.port);
  attr.port_num = 9;
  return expect_number("errno", EINVAL, qp.modify(attr, kInitMask));
}

std::string wrong_pkey(Bench& bench) {
  Fresh qp(bench);
  ibv_qp_attr attr = init_attr(bench.port);
  attr.pkey_index = 0xfff0;
  return expect_number("errno", EINVAL, qp.modify(attr, kInitMask));
}

std::string read_back(Bench& bench) {
  Fresh qp(bench, IBV_QPS_RTS);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  if (const int e = verbs().query_qp(qp.pair.a.qp, &attr, kRtrMask | kRtsMask, &init))
    return expect_number("query", 0, e);
  const ibv_qp_attr rts = rts_attr({});
  if (attr.timeout != rts.timeout) return expect_number("timeout", rts.timeout, attr.timeout);
  if (attr.retry_cnt != rts.retry_cnt)
    return expect_number("retries", rts.retry_cnt, attr.retry_cnt);
  if (attr.path_mtu != bench.port.mtu) return expect_number("MTU", bench.port.mtu, attr.path_mtu);
  return expect_number("peer", qp.pair.b.qp->qp_num, attr.dest_qp_num);
}

std::string zero_gid(Bench& bench) {
  if (!bench.port.roce) return "";
  Fresh qp(bench, IBV_QPS_INIT);
  ibv_qp_attr attr = rtr_attr(bench.port, 5, {});
  attr.ah_attr.grh.dgid = {};
  return expect_number("errno", EINVAL, qp.modify(attr, kRtrMask));
}

std::string other_family(Bench& bench) {
  if (!bench.port.roce) return "";
  Fresh qp(bench, IBV_QPS_INIT);
  ibv_qp_attr attr = rtr_attr(bench.port, 5, {});
  attr.ah_attr.grh.dgid.raw[0] = 0xfe;
  attr.ah_attr.grh.dgid.raw[1] = 0x80;
  std::memset(attr.ah_attr.grh.dgid.raw + 2, 0, 8);
  return expect_number("errno", EINVAL, qp.modify(attr, kRtrMask));
}

std::string receive_in_reset(Bench& bench) {
  Fresh qp(bench);
  return expect_number("receive in RESET", EINVAL, post_receive(qp.pair.a.qp, 1, {}));
}

std::string send_before_rts(Bench& bench) {
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR}) {
    Fresh qp(bench, state);
    Send send;
    send.sges = {qp.pair.a.sge(0, 8)};
    if (const int e = post(qp.pair.a.qp, send); e != EINVAL)
      return expect_number("errno", EINVAL, e);
  }
  return "";
}

}  // namespace

const std::vector<Case>& state_cases() {
  static const std::vector<Case> cases = {
      {"state.all", "RESET, INIT, RTR, RTS with exactly the needed attributes", through_all},
      {"state.skip", "steps cannot be skipped: EINVAL", skipping},
      {"state.init-needs", "RESET to INIT without one needed attribute: EINVAL, state unchanged",
       [](Bench& b) { return every_attribute(b, IBV_QPS_RESET, init_attr(b.port), kInitMask); }},
      {"state.rtr-needs", "INIT to RTR without one needed attribute: EINVAL, state unchanged",
       [](Bench& b) {
         return every_attribute(b, IBV_QPS_INIT, rtr_attr(b.port, 5, {}), kRtrMask);
       }},
      {"state.rts-needs", "RTR to RTS without one needed attribute: EINVAL, state unchanged",
       [](Bench& b) { return every_attribute(b, IBV_QPS_RTR, rts_attr({}), kRtsMask); }},
      {"state.rtr-extra", "INIT to RTR with an attribute of a later step: EINVAL",
       [](Bench& b) {
         return extra_attribute(b, IBV_QPS_INIT, rtr_attr(b.port, 5, {}),
                                kRtrMask | IBV_QP_TIMEOUT);
       }},
      {"state.rts-extra", "RTR to RTS with an attribute of an earlier step: EINVAL",
       [](Bench& b) {
         return extra_attribute(b, IBV_QPS_RTR, rts_attr({}), kRtsMask | IBV_QP_DEST_QPN);
       }},
      {"state.err", "any state to ERR, from there only to RESET", error_and_back},
      {"state.port", "INIT on a port that is not there: EINVAL", wrong_port},
      {"state.pkey", "INIT with a pkey index beyond the table: EINVAL", wrong_pkey},
      {"state.query", "ibv_query_qp gives back what was set", read_back},
      {"state.zero-gid", "RoCE: RTR toward the zero GID: EINVAL", zero_gid},
      {"state.family", "RoCE: RTR from an IPv4 GID toward a link-local one: EINVAL", other_family},
      {"state.receive-reset", "ibv_post_recv in RESET: EINVAL", receive_in_reset},
      {"state.send-early", "ibv_post_send before RTS: EINVAL", send_before_rts},
  };
  return cases;
}

std::string expect_number(const char* what, long expected, long got) {
  if (expected == got) return "";
  return std::string(what) + ": expected " + std::to_string(expected) + ", got " +
         std::to_string(got);
}

std::string expect_completion(ibv_cq* cq, std::uint64_t id, int status, int opcode) {
  const auto wc = next(cq);
  if (!wc) return "no completion came";
  if (wc->wr_id != id || wc->status != status)
    return "expected request " + std::to_string(id) + " with status " + std::to_string(status) +
           ", got " + std::to_string(wc->wr_id) + " with " + std::to_string(wc->status);
  if (opcode >= 0 && static_cast<int>(wc->opcode) != opcode)
    return expect_number("opcode", opcode, static_cast<long>(wc->opcode));
  return "";
}

}  // namespace conformance
