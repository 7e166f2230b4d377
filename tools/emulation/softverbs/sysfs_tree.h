// The pieces that materialize is made of.
#pragma once

#include <string>

#include "softverbs/file_tree.h"
#include "softverbs/scenario.h"

namespace softverbs {

std::string pci_path(const Hca& hca);

void write_pci(const FileTree& tree, const Hca& hca);
void write_gpu(const FileTree& tree, const Gpu& gpu);
void write_infiniband(const FileTree& tree, const Hca& hca);
void write_netdevs(const FileTree& tree, const Host& host);

// nnd-netlink.json: what netlink would tell, for readers that are given another sysfs.
std::string netlink_json(const Host& host);

}  // namespace softverbs
