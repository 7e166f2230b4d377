#include "cli/common/log_reader.h"

#include <algorithm>
#include <fstream>

namespace nnd::cli {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<json> read_log(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw LogError(file.string() + ": cannot be opened");
  std::vector<json> out;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) break;  // no newline: the writer did not come further
    auto event = json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("ev"))
      throw LogError(file.string() + ":" + std::to_string(number) + ": no event");
    out.push_back(std::move(event));
  }
  return out;
}

std::vector<json> read_logs(const fs::path& dir) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<json> out;
  for (const auto& file : files)
    for (auto& event : read_log(file)) out.push_back(std::move(event));
  return out;
}

}  // namespace nnd::cli
