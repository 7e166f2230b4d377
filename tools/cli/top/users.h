// Whose a process is, for who looks at other users' processes.
#pragma once

#include <sys/types.h>

#include <string>

namespace nnd::cli {

// "bob", or "uid 1007". As this machine's own file has it: a directory service may be what hangs.
std::string user_name(uid_t user);

}  // namespace nnd::cli
