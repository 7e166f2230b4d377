// The plan by which a node's HCAs have their addresses. Internal to this room.
#pragma once

#include <optional>
#include <vector>

#include "facts/ip.h"
#include "policy/candidates.h"

namespace nnd::policy {

// The network of the port's GID: its interface's subnet, on InfiniBand the subnet prefix. None
// where it is link-local or not known.
std::optional<facts::IpPrefix> network_of(const Candidate& one);

// What the addresses of most of these have in common; none where there is no such thing, or only
// one address. InfiniBand's prefixes are alike or not: they have no plan above them.
std::optional<facts::IpPrefix> plan_of(const std::vector<const Candidate*>& members);

// IPv4 subnets are numbered on from those of the plan, one by one, over the end of an octet:
// 172.17.0 after 172.16.255.
bool numbered_on(const std::vector<Candidate*>& members, const facts::IpPrefix& plan,
                 const facts::IpPrefix& own);

}  // namespace nnd::policy
