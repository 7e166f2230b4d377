// Hosts' clocks differ. What has to come before what at the two ends of a connection says within
// which bounds.
#pragma once

#include "report/picture.h"

namespace nnd::report {

// Fills in `ahead` of the hosts, compared with the one that has most processes. A clock that may be
// right is left as it is.
void compare_clocks(Picture& picture);

constexpr Ns kUncompared = 1'000'000'000;  // clocks that nothing compares

// By how much the clocks of two processes' hosts may be apart.
Ns clocks_apart(const Picture& picture, std::size_t one, std::size_t other);

}  // namespace nnd::report
