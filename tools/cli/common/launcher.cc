#include "cli/common/launcher.h"

#include <algorithm>
#include <charconv>

namespace nnd::cli {

namespace {

std::optional<int> port_of(const std::string& text) {
  constexpr int kMost = 65535;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value > 0 && value < kMost ? std::optional(value) : std::nullopt;
}

// torchrun's agent itself listens on MASTER_PORT where it says that its store is to be used.
std::string root_of(const config::Lookup& variable) {
  const auto address = variable("MASTER_ADDR");
  const auto port = port_of(variable("MASTER_PORT"));
  if (address.empty() || !port) return "";
  const bool taken = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return address + ":" + std::to_string(*port + (taken ? 1 : 0));
}

}  // namespace

std::optional<LaunchedTask> launched_task(const config::Lookup& variable) {
  const auto launch = config::read_launch(variable);
  if (!launch.rank || launch.ranks.value_or(1) < 2) return std::nullopt;
  const int local = std::max(launch.local_ranks.value_or(1), 1);
  return LaunchedTask{launch.launcher,    *launch.rank,
                      *launch.ranks,      launch.local_rank.value_or(0),
                      launch.local_ranks, launch.node.value_or(*launch.rank / local),
                      root_of(variable)};
}

}  // namespace nnd::cli
