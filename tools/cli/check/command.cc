#include "cli/check/command.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <memory>

#include "cli/check/examine.h"
#include "cli/check/result.h"
#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "cli/common/scenario.h"
#include "log/nccl_version.h"

namespace nnd::cli {

namespace {

// The scenario's host in place of this machine: the process's own environment says so, since the
// facts are read as the plugin reads them.
void go_to(const EmulatedHosts& hosts, const std::string& wanted) {
  const auto name = wanted.empty() ? hosts.scenario().hosts.front().name : wanted;
  const auto environment = hosts.environment(name);
  for (const char* variable :
       {"SOFTVERBS_SCENARIO", "SOFTVERBS_HOST", "SOFTVERBS_DIR", "NCCL_NET_DIAG_SYSFS"})
    setenv(variable, environment.at(variable).c_str(), 1);
  setenv("NCCL_NET_DIAG_VERBS_LIB", (softverbs::library_dir() / "libibverbs.so.1").c_str(), 1);
}

}  // namespace

Answer check(const CheckOptions& options) {
  CheckInput input;
  input.policy = options.policy;
  if (options.mode == "observe") input.mode = config::Mode::kObserve;
  if (options.mode == "warn") input.mode = config::Mode::kWarn;
  if (options.mode == "enforce") input.mode = config::Mode::kEnforce;
  if (!options.nccl.empty()) input.nccl_version = log::version_code(options.nccl);
  std::optional<EmulatedHosts> emulated;
  if (!options.scenario.empty()) {
    go_to(emulated.emplace(load_scenario(options.scenario)), options.host);
    input.standing.clear();
  }
  input.host = host_name();
  input.inside = true;
  CheckDemands demands;
  if (options.fail_on == "warn") demands.fail_on = FailOn::kWarn;
  if (options.fail_on == "refuse") demands.fail_on = FailOn::kRefuse;
  demands.expect_hcas = options.expect_hcas;
  std::optional<TcpAddress> root;
  if (!options.root.empty()) {
    root = root_address(options.root);
    if (!root)
      throw CallError(kWrongCall, "root",
                      fmt::format("\"{}\" is no HOST or HOST:PORT", options.root), options.root);
  }
  auto checked = examine(input);
  if (root) checked.root = try_root(*root, checked.node.network);
  return check_answer(checked, demands);
}

}  // namespace nnd::cli
