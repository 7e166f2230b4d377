// What the addresses show of ends that don't reach each other: those of one whose other log is not
// here, and all processes' together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/failures.h"

namespace nnd::report {

// The other end's address is not in the network of the HCA that was to reach it.
struct RailsApart {
  std::string address, subnet;  // of the other end; the subnet is empty where it isn't known
  std::string dev;              // which HCA of this node is in that
};

// Of a connection that was never made; only where none between networks works.
std::optional<RailsApart> rails_apart(const Picture& picture, const Failure& failure);

// All that failed connects one rail with another, and all processes, of several nodes, have the
// same rails.
bool crosses_rails(const Picture& picture, const std::vector<Failure>& failures);

}  // namespace nnd::report
