#include "cli/common/version.h"

namespace nnd::cli {

const char* tool_version() { return NND_VERSION; }

}  // namespace nnd::cli
