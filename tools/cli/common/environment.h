// This process's surroundings.
#pragma once

#include <string>

namespace nnd::cli {

// Of the environment; empty where not set.
std::string variable(const char* name);
std::string host_name();

}  // namespace nnd::cli
