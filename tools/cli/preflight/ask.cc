#include "cli/preflight/ask.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/common/call_error.h"
#include "cli/common/checked_json.h"
#include "cli/common/exit_code.h"
#include "cli/common/scenario.h"
#include "cli/common/tool_process.h"
#include "cli/exchange/seal.h"
#include "cli/preflight/plan.h"
#include "cli/preflight/rehearsal.h"
#include "cli/preflight/ssh.h"
#include "cli/preflight/talk.h"

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

Finding missing_tasks(const PingScope& scope, const std::string& where) {
  const auto& tasks = scope.missing;
  Finding out;
  out.weight = Weight::kMend;
  out.text = fmt::format(
      "{} did not come: the node is down, the program did not start there, or it can't reach "
      "{}, where task 0 listens.",
      tasks.empty()
          ? fmt::format("{} tasks of other nodes", scope.absent)
          : fmt::format("{} {}", tasks.size() == 1 ? "Task" : "Tasks", fmt::join(tasks, ", ")),
      where);
  out.remedy =
      "See which node it is in the launcher's output, and run nccl-net-diag check there: it says "
      "by which interface ranks will meet.";
  return out;
}

// What is wrong where tasks did not come.
using Absent = std::function<std::vector<Finding>(const PingScope&)>;

Absent missing_tasks_at(const std::string& where) {
  return
      [where](const PingScope& scope) { return std::vector<Finding>{missing_tasks(scope, where)}; };
}

Asked judged(const PingResult& result, const Absent& absent) {
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
  if (result.scope.absent != 0) known = absent(result.scope);
  for (Finding& one : unmet(result.scope.meetings)) known.push_back(std::move(one));
  if (!result.scope.ended.empty()) out.problems.push_back(result.scope.ended + ".");
  out.allocation = allocation_of(nodes, result.pairs, std::move(known));
  return out;
}

bool nothing_to_mend(const Asked& asked) {
  return asked.problems.empty() &&
         std::none_of(asked.allocation.findings.begin(), asked.allocation.findings.end(),
                      [](const Finding& one) { return one.weight == Weight::kMend; });
}

// A short job of the nodes that stay, where they are two at least and have HCAs that talk.
void rehearse(const PingRun& run, std::vector<wire::JsonSocket>& sockets, Asked& asked,
              const std::vector<HostDescription>& hosts) {
  constexpr double kSeconds = 60;
  if (asked.allocation.talked == 0) return;
  // One may have been listed under two names, which would be two ranks on one GPU.
  std::set<std::string> out(asked.allocation.leave_out.begin(), asked.allocation.leave_out.end());
  std::vector<Player> stay, players;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (out.insert(hosts[i].host).second) stay.push_back({hosts[i].host, &sockets[i]});
  for (const auto i : players_of(stay.size())) players.push_back(stay[i]);
  if (players.size() < 2) return;
  run.tell(fmt::format("a job of {} ranks, one a node", players.size()));
  const auto left = std::chrono::duration<double>(run.deadline - Clock::now()).count();
  auto result = result_of(rehearse_between(players, std::clamp(left, 1.0, kSeconds), run.stop));
  if (!result.problem.empty())
    asked.problems.push_back(std::move(result.problem));
  else if (result.finding)
    asked.allocation.add(std::move(*result.finding));
  else
    asked.allocation.ranks = players.size();
}

// What hosts are asked for, in this order: pings, then a job.
class Questions {
 public:
  Questions(PingRun run, Absent absent) : run_(std::move(run)), absent_(std::move(absent)) {
    keep_short(run_.traffic);
    run_.plan = ring_of;
    run_.by_node = true;
    run_.sequel = [this](const PingResult& result, std::vector<wire::JsonSocket>& sockets) {
      asked_ = judged(result, absent_);
      if (nothing_to_mend(*asked_)) rehearse(run_, sockets, *asked_, result.hosts);
    };
    run_.setup.rehearse = take_part_in(run_.setup);
  }
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  const PingRun& run() const { return run_; }
  // Of a ping that was carried out with run().
  Asked asked(const PingResult& result) { return asked_ ? *asked_ : judged(result, absent_); }

 private:
  PingRun run_;
  Absent absent_;
  std::optional<Asked> asked_;
};

// Why a host that ssh was to start this program on has not come.
Finding absent_host(Ssh& ssh, double arrival, const std::string& where) {
  const bool ended = ssh.ended();
  const auto words = ssh.last_words();
  const bool sentence = words.ends_with('.');
  const auto said = (words.empty() ? "" : ": " + words) + (sentence ? "" : ".");
  Finding out;
  out.weight = Weight::kLeaveOut;
  out.hosts = {ssh.host()};
  if (!ended) {
    out.text = fmt::format("{} did not answer by ssh within {:g} s; no job can start there{}",
                           ssh.host(), arrival, said);
    out.remedy = fmt::format("See what ssh -o BatchMode=yes {} true does.", ssh.host());
  } else if (ssh.exit_code() == Ssh::kOwnFailure) {
    out.text = fmt::format("ssh does not reach {}; no job can start there{}", ssh.host(), said);
    out.remedy = fmt::format("See what ssh -o BatchMode=yes {} true does.", ssh.host());
  } else {
    out.weight = Weight::kMend;
    out.text = fmt::format("On {} nccl-net-diag preflight ended with exit code {}{}", ssh.host(),
                           ssh.exit_code(), said);
    out.remedy = fmt::format("It must be there under the same path as here, and reach {}.", where);
  }
  return out;
}

// This program as a task on each of those hosts.
class SshTasks {
 public:
  SshTasks(const std::vector<std::string>& hosts, const PingRun& run, const TcpAddress& root,
           const std::vector<std::string>& program) {
    auto variables = variables_for_others();
    variables["NCCL_NET_DIAG_TOKEN"] = run.token;
    variables["WORLD_SIZE"] = std::to_string(hosts.size() + 1);
    variables["LOCAL_RANK"] = "0";
    variables["LOCAL_WORLD_SIZE"] = "1";
    variables["MASTER_ADDR"] = root.host;
    variables["MASTER_PORT"] = root.port;
    for (const auto& host : hosts) {
      variables["RANK"] = std::to_string(all_.size() + 1);
      all_.emplace_back(host, script_of(variables, program));
    }
  }
  ~SshTasks() { end_all(all_, std::chrono::milliseconds(0)); }
  SshTasks(const SshTasks&) = delete;
  SshTasks& operator=(const SshTasks&) = delete;

  Ssh& of(int task) { return all_[static_cast<std::size_t>(task) - 1]; }
  void wait() { end_all(all_, std::chrono::seconds(5)); }

 private:
  std::vector<Ssh> all_;
};

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace

std::optional<Asked> ask_as_task(PingRun run, const LaunchedTask& task, const TcpAddress& root) {
  Questions questions(std::move(run), missing_tasks_at(root.text()));
  const auto result = ping_as_task(questions.run(), task, root);
  return result ? std::optional(questions.asked(*result)) : std::nullopt;
}

Asked ask_over_ssh(PingRun run, const std::vector<std::string>& hosts, const TcpAddress& root,
                   const std::string& nccl, double arrival) {
  run.token = new_token();
  Listener listener(root, ping_meeting(run));
  const TcpAddress here{root.host, listener.port()};
  // They give up first, so that one which can't reach this host says so.
  std::vector<std::string> program{own_program(), "preflight", "--quiet", "--arrival",
                                   fmt::format("{:g}", std::max(1.0, arrival * 0.75))};
  if (!nccl.empty()) program.insert(program.end(), {"--nccl", nccl});
  SshTasks tasks(hosts, run, here, program);
  run.tell(fmt::format("ssh to {} hosts", hosts.size()));
  run.gone = [&tasks](int task) { return tasks.of(task).ended(); };
  Questions questions(std::move(run), [&](const PingScope& scope) {
    std::vector<Finding> out;
    for (const int task : scope.missing)
      out.push_back(absent_host(tasks.of(task), arrival, here.text()));
    return out;
  });
  const auto result =
      ping_between_tasks(questions.run(), listener, static_cast<int>(hosts.size()) + 1);
  auto out = questions.asked(result);
  tasks.wait();
  return out;
}

Asked ask_on_fabric(PingRun run, const std::string& scenario) {
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
    environment["LOCAL_WORLD_SIZE"] = "1";
    environment["MASTER_ADDR"] = "127.0.0.1";
    environment["MASTER_PORT"] = listener.port();
    agents.push_back(std::make_unique<ToolProcess>(
        std::vector<std::string>{"nccl-net-diag", "preflight", "--nccl", run.setup.nccl, "--quiet"},
        environment, -1));
  }
  Questions questions(std::move(run), missing_tasks_at("127.0.0.1:" + listener.port()));
  const auto result = ping_between_tasks(questions.run(), listener, tasks);
  for (const auto& agent : agents) agent->wait(questions.run().stop);
  return questions.asked(result);
}

}  // namespace nnd::cli
