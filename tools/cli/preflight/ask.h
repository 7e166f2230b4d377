// Asking the nodes of an allocation, and letting their HCAs try each other: a ping's machinery.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/ping/run.h"
#include "cli/preflight/allocation.h"

namespace nnd::cli {

struct Asked {
  Allocation allocation;
  std::vector<std::string> problems;  // what could not be examined, a sentence each
};

// As a launcher's task, one a node: task 0 listens at root and returns the result, the others
// answer and return nothing. Throws CallError.
std::optional<Asked> ask_as_task(PingRun run, const LaunchedTask& task, const TcpAddress& root);

// The hosts by ssh, each a task that calls this process, which listens at root. Of those that don't
// come within `arrival` seconds it is told why. nccl: the libnccl that was asked for, or empty.
// Throws CallError.
Asked ask_over_ssh(PingRun run, const std::vector<std::string>& hosts, const TcpAddress& root,
                   const std::string& nccl, double arrival);

// All hosts of an emulated fabric, each a process of this machine. Throws CallError.
Asked ask_on_fabric(PingRun run, const std::string& scenario);

}  // namespace nnd::cli
