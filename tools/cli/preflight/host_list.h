// The hosts of a file, as ping, Open MPI and MPICH have them.
#pragma once

#include <string>
#include <vector>

namespace nnd::cli {

// A line each: "node1", "node1 slots=8", "node1:8", "[fe80::1]:8", # for a remark; each host once,
// in the order of the file. Throws CallError for a file that can't be read, and for a word that is
// no host's name: it is to be an argument of ssh.
std::vector<std::string> read_host_list(const std::string& file);

}  // namespace nnd::cli
