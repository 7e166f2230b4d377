// NCCL's version, as logs and people write it.
#pragma once

#include <string>

namespace nnd::log {

// "2.28.9": 22809, as NCCL counts since 2.9. 0: no version.
int version_code(const std::string& text);

}  // namespace nnd::log
