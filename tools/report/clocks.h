// Hosts' clocks differ. What has to come before what at the two ends of a connection says within
// which bounds.
#pragma once

#include "report/picture.h"

namespace nnd::report {

// Fills in `ahead` of the hosts, compared with the one that has most processes. A clock that may be
// right is left as it is.
void compare_clocks(Picture& picture);

}  // namespace nnd::report
