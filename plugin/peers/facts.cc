#include "peers/facts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace nnd::peers {

namespace {

using Names = std::string_view;

// A process's own by nature, or told by another value of ProcessFacts.
constexpr auto kNotCompared = std::to_array<Names>({
    "NCCL_COMM_ID",
    "NCCL_CONF_FILE",
    "NCCL_GRAPH_DUMP_FILE",
    "NCCL_HOSTID",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_SL",
    "NCCL_IB_TC",
    "NCCL_TOPO_DUMP_FILE",
});
static_assert(std::is_sorted(kNotCompared.begin(), kNotCompared.end()));

// By them each rank chooses for itself what it runs, over how many channels, and how large the
// buffers are that it shares with others.
constexpr auto kCommon = std::to_array<Names>({
    "NCCL_ALGO",
    "NCCL_BUFFSIZE",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_PROTO",
});
static_assert(std::is_sorted(kCommon.begin(), kCommon.end()));

constexpr std::string_view kBufferSize = "NCCL_BUFFSIZE";
constexpr long kBufferSizeUnset = 1 << 22;  // DEFAULT_BUFFSIZE, v2.28.9-1 src/init.cc

std::uint32_t hash(std::string_view text) noexcept {  // FNV-1a
  std::uint32_t out = 0x811c9dc5;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x01000193;
  return out;
}

// A number as NCCL reads it, a word without regard to case.
std::string normal(std::string_view shown) {
  std::string text(shown);
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 0);
  if (end != text.c_str() && *end == '\0') return std::to_string(number);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

bool is_compared(std::string_view variable) noexcept {
  return variable.starts_with("NCCL_") && !variable.starts_with("NCCL_NET_DIAG_") &&
         !variable.starts_with("NCCL_DEBUG") &&
         !std::binary_search(kNotCompared.begin(), kNotCompared.end(), variable);
}

bool is_common(std::string_view variable) noexcept {
  return std::binary_search(kCommon.begin(), kCommon.end(), variable);
}

std::uint32_t hash_of_name(std::string_view variable) noexcept { return hash(variable); }

std::optional<std::uint32_t> hash_of_value(std::string_view variable, std::string_view shown) {
  if (shown.empty()) return std::nullopt;
  const std::string text = normal(shown);
  if (variable == kBufferSize && text == std::to_string(kBufferSizeUnset)) return std::nullopt;
  return hash(text);
}

void set_settings(ProcessFacts& facts, const Variables& variables) {
  facts.settings.clear();
  facts.all_settings = true;
  for (const bool common : {true, false})
    for (const auto& [name, variable] : variables) {
      if (!variable.shown || !is_compared(variable.name) || is_common(variable.name) != common)
        continue;
      const auto value = hash_of_value(variable.name, *variable.shown);
      if (!value) continue;
      facts.all_settings = facts.all_settings && facts.settings.size() < kMostSettings;
      if (facts.all_settings) facts.settings.push_back({name, *value});
    }
}

}  // namespace nnd::peers
