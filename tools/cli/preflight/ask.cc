#include "cli/preflight/ask.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/common/call_error.h"
#include "cli/common/checked_json.h"
#include "cli/common/exit_code.h"
#include "cli/common/scenario.h"
#include "cli/common/tool_process.h"
#include "cli/exchange/seal.h"
#include "cli/preflight/plan.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

// Whether bytes come through right is asked, not how fast: many pairs are tried at once.
void keep_short(PingTraffic& traffic) {
  constexpr int kMs = 20;
  traffic.sizes = {std::size_t{64} << 10};
  traffic.stream_ms = traffic.latency_ms = kMs;
}

Node node_of(const HostDescription& host) {
  Node out;
  if (const auto check = host.whole.find("check"); check != host.whole.end())
    out = node_from(*check);
  out.process.host = out.process.proc = host.host;
  if (!host.problem.empty()) out.broken.push_back(host.problem + ".");
  return out;
}

Finding missing_tasks(const std::vector<int>& tasks, const std::string& where) {
  Finding out;
  out.weight = Weight::kMend;
  out.text = fmt::format(
      "{} {} did not come: the node is down, the program did not start there, or it can't reach "
      "{}, where task 0 listens.",
      tasks.size() == 1 ? "Task" : "Tasks", fmt::join(tasks, ", "), where);
  out.remedy =
      "See which node it is in the launcher's output, and run nccl-net-diag check there: it says "
      "by which interface ranks will meet.";
  return out;
}

Asked judged(const PingResult& result, const std::string& where) {
  Asked out;
  std::vector<Node> nodes;
  for (const auto& host : result.hosts) {
    try {
      nodes.push_back(node_of(host));
    } catch (const BadMessage& bad) {
      out.problems.push_back(
          fmt::format("{} answered what makes no sense: {}.", host.host, bad.what()));
    }
  }
  std::vector<Finding> known;
  if (!result.scope.missing.empty()) known.push_back(missing_tasks(result.scope.missing, where));
  if (!result.scope.ended.empty()) out.problems.push_back(result.scope.ended + ".");
  out.allocation = allocation_of(nodes, result.pairs, std::move(known));
  return out;
}

}  // namespace

std::optional<Asked> ask_as_task(PingRun run, const LaunchedTask& task, const TcpAddress& root) {
  keep_short(run.traffic);
  run.plan = ring_of;
  const auto result = ping_as_task(run, task, root);
  return result ? std::optional(judged(*result, root.text())) : std::nullopt;
}

Asked ask_on_fabric(PingRun run, const std::string& scenario) {
  keep_short(run.traffic);
  run.plan = ring_of;
  run.token = new_token();
  const EmulatedHosts hosts(load_scenario(scenario));
  Listener listener({"127.0.0.1", "0"}, ping_meeting(run));
  const int tasks = static_cast<int>(hosts.scenario().hosts.size()) + 1;
  std::vector<std::unique_ptr<ToolProcess>> agents;
  for (const auto& host : hosts.scenario().hosts) {
    auto environment = hosts.environment(host.name);
    environment["NCCL_NET_DIAG_TOKEN"] = run.token;
    environment["RANK"] = std::to_string(agents.size() + 1);
    environment["WORLD_SIZE"] = std::to_string(tasks);
    environment["LOCAL_RANK"] = "0";
    environment["MASTER_ADDR"] = "127.0.0.1";
    environment["MASTER_PORT"] = listener.port();
    agents.push_back(std::make_unique<ToolProcess>(
        std::vector<std::string>{"nccl-net-diag", "preflight", "--nccl", run.host.nccl, "--quiet"},
        environment, -1));
  }
  const auto result = ping_between_tasks(run, listener, tasks);
  for (const auto& agent : agents) agent->wait(run.stop);
  return judged(result, "127.0.0.1:" + listener.port());
}

}  // namespace nnd::cli
