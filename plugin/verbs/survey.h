// Every device that a verbs library shows, for a program in which no NCCL runs.
#pragma once

#include <string>
#include <vector>

#include "facts/verbs_device.h"

namespace nnd::verbs {

struct Survey {
  std::string library;  // the file that was loaded; empty: none could be
  std::string problem;  // why none could be loaded, or what it lacks
  int list_errno = 0;   // ibv_get_device_list's errno; ENOSYS: the kernel has no RDMA
  std::vector<facts::VerbsDevice> devices;
};

// Loads the first of these libraries that can be, and reads each device as the plugin does when
// NCCL asks first. Devices are closed again, the library stays loaded. Not for a process in which
// the verbs layer is in place.
Survey survey(const std::vector<std::string>& libraries);

}  // namespace nnd::verbs
