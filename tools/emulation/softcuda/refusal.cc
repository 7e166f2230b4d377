#include "refusal.h"

#include <fmt/format.h>

#include <mutex>
#include <string_view>
#include <utility>

namespace softcuda {
namespace {

struct Remedy {
  std::string_view part;  // of what is refused
  std::string_view variable;
};
constexpr Remedy kRemedies[] = {
    {"_NVLS", "NCCL_NVLS_ENABLE=0"},
    {"_COLLNET_", "NCCL_COLLNET_ENABLE=0"},
    {"registered buffers", "NCCL_LOCAL_REGISTER=0 and NCCL_GRAPH_REGISTER=0"},
};

std::mutex mutex;
std::string last;

}  // namespace

std::string refusal_sentence(const std::string& what) {
  for (const auto& [part, variable] : kRemedies)
    if (what.find(part) != std::string::npos)
      return fmt::format("softcuda doesn't play {}; set {}", what, variable);
  return fmt::format("softcuda doesn't play {}", what);
}

void keep_refusal(std::string sentence) {
  const std::lock_guard lock(mutex);
  last = std::move(sentence);
}

std::string last_refusal() {
  const std::lock_guard lock(mutex);
  return last;
}

}  // namespace softcuda
