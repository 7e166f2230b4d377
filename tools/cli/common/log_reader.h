// Reading event logs (JSONL, include/nccl_net_diag/event.schema.json).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace nnd::cli {

// What is wrong with a log: "file:line: what".
class LogError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The events of one log, in its order. A last line without end (a process that was killed) is left
// out. Throws LogError for what is no event.
std::vector<nlohmann::json> read_log(const std::filesystem::path& file);

// The events of every *.jsonl in a directory, file by file in name order.
std::vector<nlohmann::json> read_logs(const std::filesystem::path& dir);

}  // namespace nnd::cli
