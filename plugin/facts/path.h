// The way to a peer's GID as the kernel has it at this moment: asked once when something failed, in
// a few system calls that end within the socket's time limit.
#pragma once

#include <string_view>

#include "context/gid.h"
#include "diagnosis/path.h"
#include "facts/node.h"

namespace nnd::facts {

// RoCE with an address of this network namespace; else nothing is known.
diagnosis::Path path_to(const Node& node, std::string_view device, unsigned port, int gid_index,
                        const context::Gid& remote);

}  // namespace nnd::facts
