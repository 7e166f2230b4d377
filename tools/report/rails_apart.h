// What the addresses alone show of a pair of ends whose other log is not here.
#pragma once

#include <optional>
#include <string>

#include "report/failures.h"

namespace nnd::report {

// The other end's address is not in the network of the HCA that was to reach it.
struct RailsApart {
  std::string address, subnet;  // of the other end; the subnet is empty where it isn't known
  std::string dev;              // which HCA of this node is in that
};

// Of a connection that was never made; only where none between networks works.
std::optional<RailsApart> rails_apart(const Picture& picture, const Failure& failure);

}  // namespace nnd::report
