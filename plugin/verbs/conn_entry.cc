#include "verbs/conn_entry.h"

#include "context/memory_order.h"
#include "facts/ip.h"
#include "facts/node.h"
#include "verbs/verbs_abi.h"

namespace nnd::verbs {
namespace {

using context::kRelaxed;

// The facts' GID, where it is still the one that the QP has; null: not known.
const facts::Gid* local_of(const facts::Port* port, const state::QpInfo& qp) {
  const facts::Gid* const local = port == nullptr ? nullptr : port->gid(qp.gid_index);
  return local != nullptr && local->raw == qp.local_gid ? local : nullptr;
}

void publish(state::Connection& c, const state::QpInfo& info, int state) noexcept {
  if (info.place >= state::kTellableQps) return;
  state::QpSummary qp;
  qp.num = info.num;
  qp.remote_num = info.remote_num;
  qp.gid = info.local_gid;
  qp.remote_gid = info.remote_gid;
  qp.gid_index = info.gid_index;
  qp.traffic_class = info.traffic_class;
  qp.path_mtu =
      static_cast<std::uint16_t>(info.path_mtu == 0 ? 0 : facts::verbs_mtu(info.path_mtu));
  qp.state = static_cast<std::int8_t>(state);
  qp.port = static_cast<std::uint8_t>(info.port);
  qp.sl = info.sl;
  qp.timeout = info.timeout;
  qp.retry_cnt = info.retry_cnt;
  qp.rnr_retry = info.rnr_retry;
  qp.init_us = info.spent_us[IBV_QPS_INIT];
  qp.rtr_us = info.spent_us[IBV_QPS_RTR];
  qp.rts_us = info.spent_us[IBV_QPS_RTS];
  qp.rtr_ns = info.there_ns[IBV_QPS_RTR];
  qp.rts_ns = info.there_ns[IBV_QPS_RTS];
  qp.attempts = info.most_attempts;
  c.qp(info.place).set(qp);
}

void publish_ends(state::Connection& c, const state::QpInfo& qp) {
  state::ConnectionEnds ends;
  if (qp.port == 0 || qp.leads_to_itself() || !c.ends.get(ends) || ends.port != 0) return;
  ends.device = qp.device;
  ends.port = qp.port;
  ends.gid_index = qp.gid_index;
  ends.gid = qp.local_gid;
  ends.remote_gid = qp.remote_gid;
  ends.subnet = qp.subnet;
  ends.remote_subnet = qp.remote_subnet;
  ends.netdev = qp.netdev;
  const facts::Node& node = facts::current_node();
  if (const facts::Hca* const hca = node.find(qp.device)) {
    ends.pci = hca->pci;
    ends.numa = hca->numa;
    if (ends.netdev.empty()) ends.netdev = hca->netdev;
  }
  if (const facts::Port* const port = node.find(qp.device, qp.port)) {
    ends.link_layer = facts::link_layer_text(port->link_layer);
    ends.mtu = port->active_mtu;
    ends.speed_mbps = static_cast<std::int32_t>(port->speed_mbps);
  }
  c.ends.set(ends);
}

}  // namespace

state::Connection* entry_of(const state::QpInfo& qp) noexcept {
  state::Connection* const c = qp.conn.entry;
  return c != nullptr && c->id.load(kRelaxed) == qp.conn.id ? c : nullptr;
}

void add_to_entry(state::QpInfo& qp) noexcept {
  state::Connection* const c = entry_of(qp);
  if (c == nullptr) return;
  qp.place = c->qps.fetch_add(1, kRelaxed);
  c->advance(state::Stage::kQpMade);
  publish(*c, qp, IBV_QPS_RESET);
}

void learn_subnets(state::QpInfo& qp) {
  const facts::Gid* const local = local_of(facts::current_node().find(qp.device, qp.port), qp);
  if (local == nullptr || context::gid_zero(qp.remote_gid)) return;
  qp.subnet = local->subnet();
  qp.netdev = local->netdev;
  // The remote prefix length is its own node's business; the local one says what this kernel takes
  // for the same subnet.
  const facts::IpAddress there = facts::gid_address(qp.remote_gid);
  if (local->address && local->address->address.family == there.family)
    qp.remote_subnet = facts::IpPrefix{there, local->address->length}.network_text();
}

void begin_in_entry(const state::QpInfo& qp, int to, unsigned attempt) {
  state::Connection* const c = entry_of(qp);
  if (c == nullptr) return;
  c->moving_to.store(static_cast<std::uint32_t>(to), kRelaxed);
  c->moving_attempt.store(attempt, kRelaxed);
  c->moving_since.store(context::raw_clock::now(), std::memory_order_release);
  if (to == IBV_QPS_RTR) publish_ends(*c, qp);
}

void end_in_entry(const state::QpInfo& qp, int state) noexcept {
  state::Connection* const c = entry_of(qp);
  if (c == nullptr) return;
  c->moving_since.store(0, kRelaxed);
  publish(*c, qp, state);
  if (state == IBV_QPS_INIT) c->advance(state::Stage::kInit);
  if (state == IBV_QPS_RTR) c->advance(state::Stage::kRtr);
  if (state == IBV_QPS_RTS) c->advance(state::Stage::kRts);
}

}  // namespace nnd::verbs
