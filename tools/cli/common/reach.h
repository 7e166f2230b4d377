// Whether somebody listens at an address: a TCP connection that is made and says nothing.
#pragma once

#include <vector>

#include "cli/common/tcp.h"

namespace nnd::cli {

inline constexpr int kReachPatienceMs = 3000;

// Of each place, in that order: 0, or the errno of the connect; all are tried at once, within
// kReachPatienceMs. EINVAL: it is no address.
std::vector<int> reach(const std::vector<TcpAddress>& places);

// What came of a connect: "listens" for 0, else by its errno "refused", "reset", "silent" or
// "unreachable".
const char* connect_outcome(int error);

}  // namespace nnd::cli
