#include "conformance/bench.h"

#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <stdexcept>

namespace conformance {

std::chrono::milliseconds patience{10000};

namespace {

bool is_zero(const ibv_gid& gid) {
  return gid.global.interface_id == 0 && gid.global.subnet_prefix == 0;
}

bool is_ipv4(const ibv_gid& gid) {
  static constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kMapped, sizeof kMapped) == 0;
}

// The last IPv4 GID: drivers put RoCE v2 behind v1. Without one, the first that there is.
void choose_gid(ibv_context* context, int table, PortAddress& port) {
  bool found = false;
  for (int i = 0; i < table; ++i) {
    ibv_gid gid;
    if (verbs().query_gid(context, port.port, i, &gid) != 0 || is_zero(gid)) continue;
    if (found && !is_ipv4(gid)) continue;
    port.gid_index = i;
    port.gid = gid;
    found = true;
  }
  if (!found) throw std::runtime_error("the port has no GID");
}

}  // namespace

Bench::Bench(const std::string& name) {
  int count = 0;
  list_ = verbs().get_device_list(&count);
  if (!list_ || count == 0) throw std::runtime_error("no RDMA device");
  for (int i = 0; i < count; ++i) {
    if (!name.empty() && name != verbs().get_device_name(list_[i])) continue;
    context = verbs().open_device(list_[i]);
    if (!context) continue;
    ibv_port_attr attr{};
    if (verbs().query_port(context, port.port, &attr) == 0 && attr.state == IBV_PORT_ACTIVE) {
      port.roce = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
      port.lid = attr.lid;
      port.mtu = attr.active_mtu;
      choose_gid(context, attr.gid_tbl_len, port);
      verbs().query_device(context, &device);
      return;
    }
    verbs().close_device(context);
    context = nullptr;
  }
  throw std::runtime_error("no RDMA device with an active port, or not the one named");
}

Bench::~Bench() {
  if (context) verbs().close_device(context);
  verbs().free_device_list(list_);
}

ibv_qp_attr init_attr(const PortAddress& port, int access) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = port.port;
  attr.qp_access_flags = static_cast<unsigned>(access);
  return attr;
}

ibv_qp_attr rtr_attr(const PortAddress& port, std::uint32_t peer_qp, const QpOptions& options) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = port.mtu;
  attr.dest_qp_num = peer_qp;
  attr.rq_psn = 7;
  attr.max_dest_rd_atomic = 4;
  attr.min_rnr_timer = options.rnr_timer;
  attr.ah_attr.port_num = port.port;
  attr.ah_attr.dlid = port.lid;
  if (port.roce) {
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = port.gid;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(port.gid_index);
    attr.ah_attr.grh.hop_limit = 64;
  }
  return attr;
}

ibv_qp_attr rts_attr(const QpOptions& options) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = options.timeout;
  attr.retry_cnt = options.retry;
  attr.rnr_retry = options.rnr_retry;
  attr.sq_psn = 7;
  attr.max_rd_atomic = 4;
  return attr;
}

Pair::Pair(Bench& bench, const QpOptions& options, bool connected, int memory_access,
           int cq_entries)
    : bench_(bench), options_(options) {
  pd = verbs().alloc_pd(bench.context);
  for (End* end : {&a, &b}) {
    end->memory.resize(kBytes);
    end->mr = verbs().reg_mr(pd, end->memory.data(), kBytes, memory_access);
    end->cq = verbs().create_cq(bench.context, cq_entries, nullptr, nullptr, 0);
    if (!end->mr || !end->cq) throw std::runtime_error("no memory region or no CQ");
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = end->cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {options.send_wr, options.recv_wr, options.sge, options.sge, options.inline_bytes};
    end->qp = verbs().create_qp(pd, &init);
    if (!end->qp) throw std::runtime_error("no QP");
  }
  if (connected && connect() != 0) throw std::runtime_error("the pair does not connect");
}

Pair::~Pair() {
  for (End* end : {&a, &b}) {
    end->destroy_qp();
    if (end->cq) verbs().destroy_cq(end->cq);
    if (end->mr) verbs().dereg_mr(end->mr);
  }
  verbs().dealloc_pd(pd);
}

void Pair::End::destroy_qp() {
  if (qp) verbs().destroy_qp(qp);
  qp = nullptr;
}

ibv_sge Pair::End::sge(std::size_t offset, std::size_t length) const {
  return {address(offset), static_cast<std::uint32_t>(length), mr->lkey};
}

std::uint64_t Pair::End::address(std::size_t offset) const {
  return reinterpret_cast<std::uint64_t>(memory.data() + offset);
}

int Pair::connect() {
  for (const auto& [own, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    ibv_qp_attr init = init_attr(bench_.port, options_.access);
    if (const int error = verbs().modify_qp(own->qp, &init, kInitMask)) return error;
    ibv_qp_attr rtr = rtr_attr(bench_.port, other->qp->qp_num, options_);
    if (const int error = verbs().modify_qp(own->qp, &rtr, kRtrMask)) return error;
  }
  for (End* end : {&a, &b}) {
    ibv_qp_attr rts = rts_attr(options_);
    if (const int error = verbs().modify_qp(end->qp, &rts, kRtsMask)) return error;
  }
  return 0;
}

int post(ibv_qp* qp, Send send) {
  ibv_send_wr wr{};
  wr.wr_id = send.id;
  wr.opcode = send.opcode;
  wr.send_flags = send.flags;
  wr.sg_list = send.sges.data();
  wr.num_sge = static_cast<int>(send.sges.size());
  wr.imm_data = send.imm;
  if (send.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || send.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic.remote_addr = send.remote;
    wr.wr.atomic.rkey = send.rkey;
    wr.wr.atomic.compare_add = send.compare;
    wr.wr.atomic.swap = send.swap;
  } else {
    wr.wr.rdma.remote_addr = send.remote;
    wr.wr.rdma.rkey = send.rkey;
  }
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &wr, &bad);
}

int post_receive(ibv_qp* qp, std::uint64_t id, std::vector<ibv_sge> sges) {
  ibv_recv_wr wr{};
  wr.wr_id = id;
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

std::optional<ibv_wc> next(ibv_cq* cq) {
  const auto end = std::chrono::steady_clock::now() + patience;
  ibv_wc wc{};
  while (std::chrono::steady_clock::now() < end) {
    const int got = ibv_poll_cq(cq, 1, &wc);
    if (got > 0) return wc;
    if (got < 0) return std::nullopt;
    ::sched_yield();
  }
  return std::nullopt;
}

std::optional<ibv_async_event> next_event(ibv_context* context) {
  pollfd ready{context->async_fd, POLLIN, 0};
  ibv_async_event event{};
  if (::poll(&ready, 1, static_cast<int>(patience.count())) != 1) return std::nullopt;
  if (verbs().get_async_event(context, &event) != 0) return std::nullopt;
  return event;
}

}  // namespace conformance
