// An errno as every message says it: "110 (Connection timed out)".
#pragma once

#include <string>

namespace nnd::context {

// Thread-safe; throws bad_alloc.
std::string errno_text(int error);

}  // namespace nnd::context
