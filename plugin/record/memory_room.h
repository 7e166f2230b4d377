// How much memory this process may still take before its cgroup's limit.
#pragma once

#include <cstdint>
#include <string>

namespace nnd::record {

// Bytes below the tightest limit of the process's memory cgroup and the ones above it; file cache
// that can be given up counts as free. UINT64_MAX without a limit, or where none can be read.
// `root`: in front of /proc and /sys. Throws bad_alloc.
std::uint64_t cgroup_room(const std::string& root = "");

// Whether files of this descriptor's file system live in memory.
bool in_memory_file(int fd) noexcept;

}  // namespace nnd::record
