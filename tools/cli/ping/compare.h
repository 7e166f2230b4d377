// What two hosts' descriptions tell that neither tells alone. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/ping/result.h"

namespace nnd::cli {

// A rail that one host has and another lacks or has at less speed, in sentences with the list that
// fits both until it is mended. Nothing of hosts that name no HCA alike.
std::vector<std::string> rails_short(const std::vector<HostDescription>& hosts);

// Pairs of one name whose ends are in two subnets, where other pairs of one name share theirs: an
// address or a mask is wrong, and it is said whose.
void find_misaddressed(std::vector<PairResult>& pairs);

// InfiniBand against Ethernet: what NCCL says of it is a result and no more.
void name_mixed_links(const std::vector<HostDescription>& hosts, PairResult& pair);

}  // namespace nnd::cli
