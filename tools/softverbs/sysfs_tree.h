// The pieces that materialize is made of.
#pragma once

#include <string>

#include "softverbs/file_tree.h"
#include "softverbs/scenario.h"

namespace softverbs {

// Below /sys, without a slash in front: devices/pci0000:0f/0000:0f:01.0/0000:10:00.0
std::string pci_path(const Hca& hca);

void write_pci(const FileTree& tree, const Hca& hca);
// How a PCI device is found: by its address, by its bus (NCCL:
// class/pci_bus/0000:10/../../0000:10:00.0), and that it is one (its subsystem; NCCL attaches a NIC
// without it to the first CPU).
void link_pci(const FileTree& tree, const std::string& bridge, const std::string& pci);
void write_gpu(const FileTree& tree, const Gpu& gpu);
void write_infiniband(const FileTree& tree, const Hca& hca);
void write_netdevs(const FileTree& tree, const Host& host);

// nnd-netlink.json: what netlink would tell, for readers that are given another sysfs.
std::string netlink_json(const Host& host);

}  // namespace softverbs
