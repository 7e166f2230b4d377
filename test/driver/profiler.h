// A plugin's profiler, as NCCL begins and ends it for a communicator: it may come to it before the
// net or after, and holds the library by a handle of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace nnd::driver {

struct Profiled {
  int rc = 0;  // of its init
  std::function<int()> finalize;
};

// version: of the API, 1 to 7. Throws Error where the library can't be loaded or has none of it.
Profiled begin_profile(const std::string& library, int version, std::uint64_t comm_hash);

}  // namespace nnd::driver
