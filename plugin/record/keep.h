// Which logs and black boxes of ended processes stay in a directory (NCCL_NET_DIAG_KEEP).
#pragma once

#include "config/settings.h"

namespace nnd::record {

// Marks an open log or black box as that of a living process: others that sweep see the lock, also
// over NFS. It goes with the last descriptor. A file system without locks keeps all its files.
void mark_as_living(int fd) noexcept;

// Removes the oldest logs and black boxes of this user's ended processes until no more than that
// are left. Known by their first bytes and not by their names; files of others, links and what is
// in use stay. Looks at 10,000 names at most. For our own thread: the directory may be slow.
void sweep(int dir_fd, config::Keep keep) noexcept;

}  // namespace nnd::record
