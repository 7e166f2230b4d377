// Which devices were given GPU memory, and by which way. Thread-safe; takes a lock.
#pragma once

#include <string>

namespace nnd::state {

// Whether it is the first of this device by this way.
bool first_gpu_memory(const std::string& device, bool dmabuf);
bool has_gpu_memory(const std::string& device);

}  // namespace nnd::state
