#include "watch/closer.h"

#include "state/qp_table.h"

namespace nnd::watch {

using diagnosis::Wait;

Wait look_closer(const state::Connection& c, Wait wait, std::optional<facts::TcpTable>& tcp) {
  if (wait == Wait::kNotAccepted || wait == Wait::kNotDialled) {
    state::ConnectionStart start;
    if (!c.start.get(start) || start.listener_port == 0) return wait;
    if (!tcp) tcp.emplace();
    const facts::TcpEnd listener{start.listener, start.listener_port};
    if (wait == Wait::kNotAccepted)
      return tcp->to(listener) == facts::TcpState::kTrying ? Wait::kTcp : wait;
    const facts::TcpState from = tcp->from(listener);
    const bool made = from == facts::TcpState::kMade || from == facts::TcpState::kHungUp;
    return made ? Wait::kMetadata : wait;
  }
  if (wait != Wait::kStuckSend && wait != Wait::kNothingCame) return wait;
  const state::QpTraffic traffic = state::traffic_of_qps(c);
  if (wait == Wait::kNothingCame)
    return traffic.flushes != traffic.flushed ? Wait::kStuckFlush : wait;
  return traffic.qps != 0 && traffic.sends == traffic.completed ? Wait::kHeldBack : wait;
}

}  // namespace nnd::watch
