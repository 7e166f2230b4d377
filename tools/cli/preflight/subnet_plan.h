// Which nodes are meant to be in other subnets: behind other leaf switches, or in another rack.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/preflight/node.h"
#include "report/deviation.h"

namespace nnd::cli {

class SubnetPlan {
 public:
  // all: what differs between the nodes. Keeps a reference to them.
  SubnetPlan(const std::vector<Node>& nodes, const std::vector<report::Deviation>& all);

  // Most of its rails are in other subnets than other nodes', and not only swapped.
  bool is_elsewhere(const std::string& host) const { return elsewhere_.contains(host); }
  // Small networks as big as each other may be one for each node, or each rack.
  bool may_mean(const report::Deviation& subnets) const;

 private:
  bool has_subnet(std::size_t node, const std::string& subnet) const;

  const std::vector<Node>& nodes_;
  std::set<std::string> elsewhere_;  // hosts
};

}  // namespace nnd::cli
