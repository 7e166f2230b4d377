// The tool's own version.
#pragma once

namespace nnd::cli {

// "0.9.0".
const char* tool_version();

}  // namespace nnd::cli
