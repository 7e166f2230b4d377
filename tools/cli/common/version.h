// Versions: NCCL's as text and as numbers, and the tool's own.
#pragma once

#include <string>

namespace nnd::cli {

// "2.28.9": 22809, as NCCL counts since 2.9. 0: no version.
int version_code(const std::string& text);

// "0.9.0".
const char* tool_version();

}  // namespace nnd::cli
