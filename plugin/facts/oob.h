// The interface by which NCCL's ranks find each other, out of band.
#pragma once

#include <string>

#include "facts/nccl_rules.h"
#include "facts/netdev.h"

namespace nnd::facts {

struct OobPick {
  std::string netdev;   // empty: none fits, or it can't be told
  std::string address;  // "10.1.0.11"
  std::string why;
};

// NCCL's own choice (src/misc/socket.cc, 2.18.3 to 2.30.7): NCCL_SOCKET_IFNAME; else ib*; else the
// subnet of NCCL_COMM_ID; else what is neither docker*, lo* nor (newer) virbr*; else those in turn.
// IPv4 before IPv6, as getifaddrs lists them. Not from NCCL_COMM_ID's name where that is no
// address.
OobPick pick_oob(const Network& network, const Environment& environment);

}  // namespace nnd::facts
