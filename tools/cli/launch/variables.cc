#include "cli/launch/variables.h"

namespace nnd::cli {

namespace {

constexpr const char* kName = "diag";
constexpr const char* kNone = "none";  // for NCCL: no plugin at all

bool is_ours(const std::string& chosen, const std::filesystem::path& plugin) {
  return chosen == kName || std::filesystem::path(chosen).filename() == plugin.filename();
}

}  // namespace

std::vector<Variable> launch_variables(const Launch& launch, const Environment& environment) {
  std::vector<Variable> out;
  if (launch.by_name) {
    const auto before = environment("LD_LIBRARY_PATH");
    const auto own = launch.plugin.parent_path().string();
    out.push_back({"NCCL_NET_PLUGIN", kName});
    // An empty part of it is the current directory.
    out.push_back({"LD_LIBRARY_PATH", before.empty() ? own : own + ":" + before});
  } else {
    out.push_back({"NCCL_NET_PLUGIN", launch.plugin.string()});
  }
  const auto chosen = environment("NCCL_NET_PLUGIN");
  if (!chosen.empty() && !is_ours(chosen, launch.plugin) &&
      environment("NCCL_NET_DIAG_INNER").empty())
    out.push_back({"NCCL_NET_DIAG_INNER", chosen == kNone ? "IB" : chosen});
  // 2.28.3 to 2.29.7 forget a plugin when the last communicator is destroyed.
  out.push_back({"NCCL_NET_PLUGIN_REF_COUNT", "1"});
  return out;
}

std::string as_export(const Variable& variable) {
  std::string out = "export " + variable.name + "='";
  for (const char c : variable.value) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'\n";
}

}  // namespace nnd::cli
