// Who came to its program's end in good order, and keeps nobody waiting, however early that was.
#pragma once

#include <cstddef>
#include <vector>

#include "report/ends.h"

namespace nnd::report {

// Those of them that nobody was seen to miss, in order. None where a communicator is being made:
// it may want any of them.
std::vector<std::size_t> done_ones(const Picture& picture, const std::vector<End>& ends);

}  // namespace nnd::report
