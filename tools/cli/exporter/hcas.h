// The ports of this node's HCAs: what NCCL and the policy make of them, as `check` says, and what
// they count.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/exporter/family.h"
#include "cli/exporter/totals.h"

namespace nnd::cli {

class Hcas {
 public:
  // To be called now and then, with the ports that carry connections: only their counters are read,
  // which may be commands to the HCA's firmware, and not at every call.
  void look(const std::vector<PortOf>& in_use);

  // As of the last look.
  Families families() const;

 private:
  struct Port {
    std::string device, netdev, link_layer, subnet, verdict;
    unsigned number = 0;
    int gid_index = -1;
    double bytes_per_sec = 0;
  };

  // What is against a port, or the node where it names no device.
  struct Finding {
    std::string device, port, cause;

    auto operator<=>(const Finding&) const = default;
  };

  void examine();

  std::vector<Port> ports_;
  std::set<Finding> findings_;
  bool readable_ = true;
  std::uint64_t examined_ns_ = 0, counted_ns_ = 0;
};

}  // namespace nnd::cli
