// All that makes a loaded libnccl run on a host that isn't there.
#pragma once

#include <functional>
#include <string>

namespace softcuda {

struct HostView {
  std::string symbols;  // a file of the same build with its symbol table, for a stripped library
  std::string sysfs;    // what stands for /sys; empty: the machine's own
  std::function<void(const std::string& path)> segment;  // told of each file in /dev/shm
};

// handle: from dlopen, before anything is called in the library. Empty, or why it can't be used.
std::string take_over(void* handle, const HostView& view);

}  // namespace softcuda
