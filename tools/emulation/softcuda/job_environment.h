// What the processes of a job find in their environment.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "job_spec.h"

namespace softcuda {

using Variables = std::map<std::string, std::string>;

// This process's, without what is for another job where the spec says so.
Variables own_variables(const JobSpec& spec);

// For ranks that are so many on this machine: how those that wait in vain give way to the others.
void let_give_way(Variables& variables, int ranks);

// By which NCCL takes the nodes for different machines.
std::string host_id(int node);

// Puts the directories in front of LD_LIBRARY_PATH.
void add_library_path(Variables& variables, const std::vector<std::string>& directories);

// Of a program on a node of the job that brings its own libnccl and knows nothing of softcuda:
// `runtime` (libsoftcuda.so) is loaded into whatever it starts and plays the node's GPUs there.
Variables program_variables(const JobSpec& spec, int node, const std::filesystem::path& runtime);

// As execve takes them: "NAME=value".
std::vector<std::string> lines_of(const Variables& variables);

}  // namespace softcuda
