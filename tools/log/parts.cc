#include "log/parts.h"

#include <algorithm>
#include <system_error>

#include "nccl_net_diag/events.h"

namespace nnd::log {

namespace fs = std::filesystem;

bool is_tail(const std::string& file) {
  // The name may go on with ".1", or ".gz".
  const std::string name = fs::path(file).filename().string();
  return std::any_of(nccl_net_diag::kTailEndings.begin(), nccl_net_diag::kTailEndings.end(),
                     [&](std::string_view ending) { return name.find(ending) != name.npos; });
}

std::vector<fs::path> tails_of(const fs::path& log) {
  std::vector<fs::path> out;
  std::string stem = log.string();
  if (constexpr std::string_view kEnding = ".jsonl"; stem.ends_with(kEnding))
    stem.resize(stem.size() - kEnding.size());
  for (const std::string_view ending : nccl_net_diag::kTailEndings) {
    const fs::path tail = std::string(stem).append(ending);
    std::error_code ignored;
    if (fs::exists(tail, ignored)) out.push_back(tail);
  }
  return out;
}

}  // namespace nnd::log
