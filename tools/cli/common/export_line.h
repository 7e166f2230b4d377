// Lines for a job's script that came from another process.
#pragma once

#include <string_view>

namespace nnd::cli {

// People copy these lines into a shell: "export NCCL_NAME=value", and nothing that a shell would
// obey.
bool is_safe_export_line(std::string_view line);

}  // namespace nnd::cli
