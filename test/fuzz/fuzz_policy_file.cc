// A policy file of any bytes is read or refused with a line and a reason, and what was read can
// judge.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "policy/judge.h"
#include "policy/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nnd::policy;
  const Loaded loaded =
      load_policy_text({reinterpret_cast<const char*>(data), size}, "policy.toml");
  for (const LoadError& error : loaded.errors)
    if (error.text().empty() || error.problem.empty()) __builtin_trap();
  nnd::facts::Node node;
  node.sysfs_hcas = {"mlx5_0"};
  judge_node(node, loaded.policy, loaded.policy.mode, "node-1");
  return 0;
}
