// What `nccl-net-diag check --json` has printed on the nodes, from files.
#pragma once

#include <string>
#include <vector>

#include "cli/preflight/node.h"

namespace nnd::cli {

// The objects in it, each with the place where it begins: one after the other, or with a label
// before each line ("node3: ", as srun -l, pdsh and clush print what many nodes say at once).
std::vector<std::string> objects_in(const std::string& text);

struct SavedNodes {
  std::vector<Node> nodes;            // of a host that is there twice the last one
  std::vector<std::string> problems;  // what could not be read, a sentence each
};

// Files, directories (all files in them), "-" for standard input. Throws CallError for one that
// isn't there or can't be read, and where no node is found. What is no check's result is a problem.
SavedNodes saved_nodes(const std::vector<std::string>& paths);

}  // namespace nnd::cli
