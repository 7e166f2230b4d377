// Which libnccl a job on this machine would load.
#pragma once

#include <functional>
#include <string>

namespace nnd::cli {

// `wanted`: a file, a directory that holds libnccl.so.2, or a version of the test cache; where it
// is empty the first of: LD_LIBRARY_PATH, the active Python environment (VIRTUAL_ENV, CONDA_PREFIX,
// the python3 of PATH; package nvidia-nccl-cu12 or -cu13), the system's library directories, the
// newest of the test cache. `variable` gives the environment's values, empty where not set. Throws
// CallError.
std::string find_nccl(const std::string& wanted,
                      const std::function<std::string(const char*)>& variable);

}  // namespace nnd::cli
