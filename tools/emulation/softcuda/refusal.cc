#include "refusal.h"

#include <fmt/format.h>

#include <mutex>
#include <set>
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
    {"_AllGatherV_", "NCCL_ALLGATHERV_ENABLE=0"},
    {"registered buffers", "NCCL_LOCAL_REGISTER=0 and NCCL_GRAPH_REGISTER=0"},
};

std::mutex mutex;
const std::string* last = nullptr;  // one of the sentences
std::set<std::string>& sentences() {
  static auto& all = *new std::set<std::string>;  // outlives every stream thread
  return all;
}

}  // namespace

std::string refusal_sentence(const std::string& what) {
  for (const auto& [part, variable] : kRemedies)
    if (what.find(part) != std::string::npos)
      return fmt::format("softcuda doesn't play {}; set {}", what, variable);
  return fmt::format("softcuda doesn't play {}", what);
}

void keep_refusal(std::string sentence) {
  const std::lock_guard lock(mutex);
  last = &*sentences().insert(std::move(sentence)).first;
}

std::string last_refusal() {
  const std::lock_guard lock(mutex);
  return last == nullptr ? std::string() : *last;
}

const char* refusal_text() {
  const std::lock_guard lock(mutex);
  return last == nullptr ? nullptr : last->c_str();
}

}  // namespace softcuda
