// This process's surroundings.
#pragma once

#include <string>

namespace nnd::cli {

// Of the environment; empty where not set.
std::string variable(const char* name);
std::string host_name();

// A path as the value of NCCL_NET_DIAG_FILE, which is a pattern: a % stays one.
std::string pattern_of(const std::string& path);

}  // namespace nnd::cli
