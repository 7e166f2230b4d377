// What both ends of a connection say of it, where it can't be true of a network that delivers.
#pragma once

#include <vector>

#include "report/picture.h"

namespace nnd::report {

struct Wait;

// A receiver has posted receives and told the sender so by RDMA, and the sender has had something
// to send for seconds and been told of none: what was sent is lost on the way. Marks both waits.
void find_lost(const Picture& picture, std::vector<Wait>& waits);

}  // namespace nnd::report
