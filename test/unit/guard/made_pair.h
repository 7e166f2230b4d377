// A QP of a connection between the first rail of policy::test::rails() and another address.
#pragma once

#include <string>

#include "state/qp.h"
#include "unit/policy/made_node.h"

inline nnd::state::QpInfo made_pair(std::uint32_t connection, const std::string& remote) {
  nnd::state::QpInfo qp;
  qp.conn.id = connection;
  qp.device = "mlx5_0";
  qp.port = 1;
  qp.gid_index = 3;
  qp.local_gid = nnd::policy::test::raw_gid("10.200.0.2");
  qp.remote_gid = nnd::policy::test::raw_gid(remote);
  return qp;
}
