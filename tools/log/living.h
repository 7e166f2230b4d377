// The black boxes that processes of this machine write now.
#pragma once

#include <filesystem>
#include <vector>

namespace nnd::log {

struct LivingBox {
  int pid = 0;
  // Through the process's own descriptor (/proc/PID/fd/N): right in a container of its own too, and
  // where the name is gone.
  std::filesystem::path file;
  std::filesystem::path named;  // as the process knows it
};

// By process id.
std::vector<int> processes();
// Those of a process; none too where it is gone or another user's.
std::vector<LivingBox> living_boxes(int pid);
// Whether this user may look into it. False: it is another's, or gone.
bool may_look_into(int pid);

}  // namespace nnd::log
