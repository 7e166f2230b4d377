// Shows a loaded libnccl another /sys: redirects that module's own file calls (open, fopen,
// realpath, opendir, stat, access, readlink …) by its GOT slots, for paths under /sys. No
// privileges, nothing outside that module is touched.
#pragma once

#include <string>

namespace softverbs {

// module: a dlopen handle. root: the directory that stands for "/sys". Returns an empty string, or
// why it could not be done. To be called once per module, before NCCL is initialised.
std::string redirect_sysfs(void* module, const std::string& root);

}  // namespace softverbs
