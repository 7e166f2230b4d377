// A log that was full has two more files beside it (nccl_net_diag::kTailEndings).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nnd::log {

bool is_tail(const std::string& file);
// Those that are there.
std::vector<std::filesystem::path> tails_of(const std::filesystem::path& log);

}  // namespace nnd::log
