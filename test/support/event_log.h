// Event logs as a test asserts on them: each line's JSON, read without any code of the product.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace nnd::test {

// The events of one log, in its order. A last line without end (a process that was killed) is left
// out. Throws for what is no event.
// NCCL_NET_DIAG_EVENTS for tests that look at the steps of connections that go well.
inline constexpr const char* kEveryStep = "*,^req.*";

inline std::vector<nlohmann::json> read_log(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + ": cannot be opened");
  std::vector<nlohmann::json> out;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) break;  // no newline: the writer did not come further
    auto event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("ev"))
      throw std::runtime_error(file.string() + ":" + std::to_string(number) + ": no event");
    out.push_back(std::move(event));
  }
  return out;
}

// The events of every *.jsonl in a directory, file by file in name order.
inline std::vector<nlohmann::json> read_logs(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<nlohmann::json> out;
  for (const auto& file : files)
    for (auto& event : read_log(file)) out.push_back(std::move(event));
  return out;
}

// Of these, those with this name.
inline std::vector<nlohmann::json> only(const std::vector<nlohmann::json>& events,
                                        const std::string& name) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& event : events)
    if (event.at("ev") == name) found.push_back(event);
  return found;
}

}  // namespace nnd::test
