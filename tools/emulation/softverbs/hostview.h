// Shows a loaded libnccl another host than the machine it runs on: redirects that module's own
// calls by its GOT slots. Files under /sys, NCCL's configuration files, the topology file of
// virtual machines, kernel logs and the CPUs that a thread may use are then the
// scenario's. No privileges, nothing outside that module is touched.
//
// The host's name is host_name.cc's. What NCCL asks the processor itself (cpuid) can't be
// redirected; the topology file answers it first.
#pragma once

#include <string>

namespace softverbs {

// Of the files outside /sys, those that NCCL finds changed, and where they are below the root.
inline constexpr const char* kTopologyFile = "/var/run/nvidia-topologyd/virtualTopology.xml";
inline std::string stands_for(const std::string& file) { return "nnd-host" + file; }

// module: a dlopen handle. root: what materialize() wrote; it stands for "/sys". Returns an empty
// string, or why it could not be done. To be called once per module, before NCCL is initialised.
std::string show_host(void* module, const std::string& root);

}  // namespace softverbs
