// PCIe bridges that keep GPUs and HCAs of one switch from talking with each other directly.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/node.h"

namespace nnd::cli {

// Downstream ports of a switch that has two or more of the node's GPUs and HCAs below it, with P2P
// redirection on, by address. None: their configuration can't be read, which only root can, and
// the IOMMU groups don't show it.
std::optional<std::vector<std::string>> redirecting_bridges(const facts::Node& node);

}  // namespace nnd::cli
