// What a kernel prints of a node's trouble that can end a job.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace nnd::foreign {

enum class KernelSays : std::uint8_t {
  kOutOfMemory,  // a process was killed
  kSegfault,
  kHungTask,
  kXid,       // of a GPU
  kSwitch,    // of an NVSwitch
  kLinkDown,  // of a port
  kCable,     // or its module
  kSick,      // an HCA's firmware
  kBus,       // PCIe
  kIommu,     // it refused a device its memory
  kQueue      // a netdev sends nothing
};

struct KernelSaying {
  KernelSays says;
  std::string_view driver;  // that the line begins with; empty: any
  std::string_view words;   // that stand in it
  std::string_view file;    // of Linux, or of the project that it names
};

// The first that fits a line, or null.
const KernelSaying* find_kernel_saying(std::string_view text);
const std::vector<KernelSaying>& kernel_sayings();

}  // namespace nnd::foreign
