// Which logs and black boxes of ended processes stay in the default place (NCCL_NET_DIAG_KEEP). A
// directory that the user named is never swept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace nnd::record {

inline constexpr std::string_view kLogEnding = ".jsonl";

// Marks an open log or black box as that of a living process: others that sweep see the lock. It
// goes with the last descriptor.
void mark_as_living(int fd) noexcept;

// Whether the descriptor's file system is this node's alone. Locks hold there for all that see it.
bool is_node_local(int fd) noexcept;

// Removes what processes of this user left, the oldest first, as far as it is more than `keep`. A
// process's log and box stay or go together; they stay where the process lives or is of one of
// these jobs (field "job" of plugin.load), where any of them changed within the last hour, and
// where one is no file of ours, a link, or another user's. Looked at by name; what is to go alone
// is opened. Does nothing where another process of the node did it within the last hour, and in a
// directory that isn't node-local. For our own thread.
void sweep(int dir_fd, const config::Keep& keep, const std::vector<std::string>& jobs) noexcept;

}  // namespace nnd::record
