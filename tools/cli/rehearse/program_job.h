// rehearse -- PROGRAM: the user's own program in the place of rehearse's job.
#pragma once

#include <filesystem>
#include <string>

#include "cli/rehearse/programs.h"
#include "softcuda/job_spec.h"

namespace nnd::cli {

// libsoftcuda.so, as installed beside the running program, else of the build, in `folder` under all
// the names that it goes by: links, which not every package can hold. Throws CallError where it is
// missing.
std::string gpu_runtime(const std::filesystem::path& folder);

// What each node's program finds: the scenario's or this host's GPUs, which `runtime` plays, and
// HCAs, the shim, event logs in `logs`, and what launchers and frameworks read: NNODES, NODE_RANK,
// NPROC_PER_NODE, MASTER_ADDR and MASTER_PORT, torchrun's PET_...; with one rank a node RANK,
// LOCAL_RANK and WORLD_SIZE too, for a program without a launcher.
std::vector<softcuda::Variables> program_nodes(const softcuda::JobSpec& spec,
                                               const std::string& runtime, const std::string& logs,
                                               int port);

// One that nobody has now, and that nobody is given who asks for any: the program takes it seconds
// later.
int free_port();

}  // namespace nnd::cli
