// A GID as people know it.
#pragma once

#include <string>

namespace nnd::cli {

// "10.0.0.1" of "::ffff:10.0.0.1"; others as they are.
std::string without_mapping(const std::string& gid);

}  // namespace nnd::cli
