// A policy file of any bytes is read or refused with a line and a reason, and what was read can
// judge. So is one that says the same thing a hundred thousand times, for levels that no stack has.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "policy/judge.h"
#include "policy/load.h"

namespace {

void read(std::string_view text) {
  using namespace nnd::policy;
  const Loaded loaded = load_policy_text(text, "policy.toml");
  for (const LoadError& error : loaded.errors)
    if (error.text().empty() || error.problem.empty()) __builtin_trap();
  nnd::facts::Node node;
  node.sysfs_hcas = {"mlx5_0"};
  judge_node(node, loaded.policy, loaded.policy.mode, "node-1");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  constexpr std::size_t kFew = 8, kMany = 100'000, kMost = std::size_t{1} << 20;
  if (size == 0 || size > kFew) return 0;
  std::string again;
  for (std::size_t i = 0; i < kMany && again.size() < kMost; ++i) again += text;
  read(again);
  read("a = " + again);
  return 0;
}
