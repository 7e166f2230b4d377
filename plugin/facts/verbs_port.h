// Which port of verbs a device of NCCL's is.
#pragma once

#include <functional>
#include <string_view>

#include "facts/node.h"

namespace nnd::facts {

// The port that getProperties names so. To a port's number NCCL adds how many of its devices before
// this one are at the same place of the PCI bus (realPort, v2.28.9-1 src/transport/net_ib.cc): the
// second function of a card has port 2. A device that NCCL fused ("mlx5_0+mlx5_1") has the first
// one's. `visible`: false for what is kept from NCCL. Null where it can't be told.
const Port* verbs_port(const Node& node, std::string_view name, int nccl_port,
                       const std::function<bool(std::string_view, unsigned)>& visible);

// The HCA of such a name; null: there is none.
const Hca* hca_of(const Node& node, std::string_view name);

}  // namespace nnd::facts
