// The way to a peer's address, as the kernel has it when something fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

struct Path {
  std::string netdev;     // of the local GID; empty: nothing is known
  std::string remote;     // the peer's address
  std::string gateway;    // towards it; empty: on link
  int error = 0;          // errno of looking for a route by that interface
  std::string neighbour;  // state of the next hop's entry: "failed", "none"; empty: not known
  // This node's interfaces in the subnet of both ends, where there are several, and what Linux does
  // there with ARP; -1: not known.
  std::string subnet = {};
  std::vector<std::string> sharing = {};
  int arp_ignore = -1;
  int rp_filter = -1;
};

// "neighbour 10.0.1.2 dev eth2: FAILED"; empty: nothing is known.
std::string path_text(const Path& path);

// The interfaces that share a subnet, where that makes ends fail to find each other.
std::optional<Diagnosis> of_shared_subnet(const Path& path);

}  // namespace nnd::diagnosis
