// How a remote GID relates to one of ours: for the sentence before a QP goes to RTR.
#pragma once

#include <string>
#include <string_view>

#include "diagnosis/queue_pair.h"
#include "facts/node.h"

namespace nnd::facts {

using diagnosis::Reachability;

struct SubnetVerdict {
  Reachability reach = Reachability::kUnknown;
  // The remote GID's own place, where it is another port of this node.
  const Hca* own_hca = nullptr;
  const Port* own_port = nullptr;
  std::string netdev;   // the interface that the kernel would use
  std::string gateway;  // kRouted; empty: on link
  // State of the next hop's entry when the facts were read ("reachable", "failed"); empty: none.
  std::string neighbour;
  std::string local;   // "10.0.1.2/24"; InfiniBand: the GID's prefix
  std::string remote;  // "10.0.4.9"
  std::string why;     // one clause for people, also for kUnknown
};

// Conservative: kNoRoute only where the interface, its prefix and all routes of all tables are
// known; between two HCAs of this node it is no other than to a peer's. The kernel looks routes up
// with the GID's interface as the outgoing one, so only routes by that interface count. No I/O;
// some microseconds.
SubnetVerdict compare(const Node& node, std::string_view device, unsigned port, int gid_index,
                      const context::Gid& remote);

const char* reach_text(Reachability reach);  // "same", "routed", "no_route", ...

// The most specific route for an address by one interface; null: none. Routes whose interface could
// not be told count for every interface.
const Route* route_by(const Network& network, const IpAddress& to, int ifindex);

}  // namespace nnd::facts
