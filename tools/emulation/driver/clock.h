// The clock of deadlines and measurements.
#pragma once

#include <chrono>

namespace nnd::driver {

using Clock = std::chrono::steady_clock;

}  // namespace nnd::driver
