// Where a device of a host is on the PCI bus, as sysfs has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "softverbs/file_tree.h"
#include "softverbs/scenario.h"

namespace softverbs {

bool is_pci_address(std::string_view text);  // "0000:17:00.0"

// The bridges above a device ("0000:0f:01.0", "0000:0f:01.0/0000:40:00.0/0000:41:00.0"), the root
// port first. Empty where one of them is no PCI address.
std::vector<std::string> bridges(const std::string& parent);

// Below /sys, without a slash in front: devices/pci0000:0f/0000:0f:01.0/0000:10:00.0
std::string pci_path(const std::string& parent, const std::string& pci);

// What NCCL asks of a function.
struct PciFunction {
  std::string pci, parent;
  std::string device_class, vendor, device, subsystem_device;
  int numa = 0;
  std::string speed = "32.0 GT/s PCIe", max_speed = "32.0 GT/s PCIe";
  int width = 16, max_width = 16;
};

// The function and the bridges above it, of which the nearest has the function's link.
void write_function(const FileTree& tree, const PciFunction& function);

// Functions and buses of one host that are in two places, as a sentence; empty: none.
std::string twice_on_pci(const Host& host);

}  // namespace softverbs
