// The official libraries that test/nccl/fetch-nccl has fetched.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nnd::driver {

// $NND_NCCL_DIR, else $XDG_CACHE_HOME/nccl-net-diag/nccl, else ~/.cache/nccl-net-diag/nccl.
std::filesystem::path nccl_cache();

// Versions ("2.28.9") in the cache for this machine's architecture, oldest first.
std::vector<std::string> cached_versions();

// The library's file, where the cache has that version.
std::optional<std::filesystem::path> cached_nccl(const std::string& version);

}  // namespace nnd::driver
