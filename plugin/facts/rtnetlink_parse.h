// What rtnetlink's answers mean. Bytes in, a network out; no I/O. Internal to this room.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/netdev.h"

namespace nnd::facts::rtnetlink {

// Of an interface, by ifindex; turned into names when all are known.
struct Relations {
  int master = 0;
  int link = 0;
};

struct Walked {
  bool over = false;  // no further answer follows
  int error = 0;      // errno that the kernel answered with
};

// Calls take for each message of this sequence in what one receive returned; `received` is aligned
// as a message. What does not fit into it ends the walk.
Walked walk(std::string_view received, std::uint32_t sequence,
            const std::function<void(const nlmsghdr&)>& take);

// Each adds what a message of its kind says and leaves others alone. The whole message lies behind
// the header.
void take_link(const nlmsghdr& header, Network& network, std::vector<Relations>& relations);
void take_address(const nlmsghdr& header, Network& network);
void take_route(const nlmsghdr& header, Network& network);
void take_neighbour(const nlmsghdr& header, Network& network);

// What one address has as next hop, and how a neighbour is. Messages of another kind say nothing.
void take_gateway(const nlmsghdr& header, IpAddress& gateway);
void take_state(const nlmsghdr& header, std::string& state);

// One relation per interface, in their order.
void name_relations(const std::vector<Relations>& relations, Network& network);

}  // namespace nnd::facts::rtnetlink
