// The processors of a host, as far as NCCL asks for them.
#pragma once

#include <string>

#include "softverbs/file_tree.h"
#include "softverbs/scenario.h"

namespace softverbs {

// The CPUs of a NUMA node, as sysfs has them: "00000000,ffffffff" and "0-31". Every node has 32, of
// a host without NUMA (-1) they are node 0's.
std::string cpu_map(int numa);
std::string cpu_list(int numa);

// Writes the NUMA nodes below devices/system/node, and for NCCL the topology file that a virtual
// machine has: the CPUs with all that NCCL would else ask the processor it runs on.
void write_cpus(const FileTree& tree, const Host& host);

}  // namespace softverbs
