#include "cli/ping/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "cli/common/call_error.h"
#include "cli/common/checked_json.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"
#include "cli/ping/agent.h"
#include "cli/ping/allowed.h"
#include "cli/ping/text.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr int kWaitTickMs = 50;
constexpr int kEndTickMs = 5;
constexpr auto kAgentPatience = std::chrono::seconds(3);

// This host's own side, in a process of its own: what the other host does in answer to requests,
// this one does in the same way.
class LocalAgent {
 public:
  explicit LocalAgent(const RankSetup& setup) {
    const auto [ours, theirs] = wire::socket_pair();
    fd_ = ours;
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw CallError(kNotExamined, "failed", "fork failed");
    if (pid_ != 0) {
      close(theirs);
      return;
    }
    close(ours);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    // Ctrl-C reaches the whole group; the conducting process says what follows from it.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
    try {
      wire::JsonSocket conductor(theirs);
      serve_ping(conductor, setup, [] { return false; });
    } catch (const std::exception& error) {
      print_err(fmt::format("nccl-net-diag ping: {}\n", error.what()));
    }
    _exit(0);
  }
  // Its socket is closed by now: it ends its rank, then itself. Killed at once it would leave the
  // rank to the kernel, which may end it after this process.
  ~LocalAgent() {
    const auto deadline = Clock::now() + kAgentPatience;
    while (waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (Clock::now() >= deadline) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        return;
      }
      poll(nullptr, 0, kEndTickMs);
    }
  }
  LocalAgent(const LocalAgent&) = delete;
  LocalAgent& operator=(const LocalAgent&) = delete;

  wire::JsonSocket socket() const { return wire::JsonSocket(fd_); }  // once

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
};

// The pairs between host 0 and each other, or between all.
std::vector<PingPair> all_pairs(const PingRun& run, const std::vector<HostDescription>& hosts) {
  std::vector<PingPair> out;
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    const auto ports = select_ports(hosts[from], run.hcas);
    for (std::size_t to = from + 1; to < hosts.size(); ++to) {
      const auto& patterns = run.peer_hcas.empty() && hosts.size() > 2 ? run.hcas : run.peer_hcas;
      const auto pairs = plan_pairs(from, ports, to, select_ports(hosts[to], patterns), run.matrix);
      out.insert(out.end(), pairs.begin(), pairs.end());
    }
  }
  return out;
}

bool timed_out_nearby(const PairResult& pair) {
  return pair.state == PairState::kUnreachable && !pair.apart && pair.error == ETIMEDOUT;
}

// One after the other, so that none disturbs another's figures.
std::vector<PingRound> one_at_a_time(const PingRun& run,
                                     const std::vector<HostDescription>& hosts) {
  std::vector<PingRound> out;
  for (auto& pair : all_pairs(run, hosts)) out.push_back(PingRound{PingLane{std::move(pair)}});
  return out;
}

struct Tried {
  std::vector<PairResult> pairs;
  std::string ended;  // why it ended early, or empty
};

// Carries out a plan, and tells of each pair.
class Rounds {
 public:
  Rounds(const PingRun& run, PingConductor& conductor, const std::vector<HostDescription>& hosts)
      : run_(run), conductor_(conductor), hosts_(hosts) {}

  // planned: how many pairs there are.
  Tried carry_out(const std::vector<PingRound>& rounds, std::size_t planned) {
    planned_ = planned;
    Tried out;
    for (const PingRound& round : rounds) {
      std::vector<std::future<Tried>> lanes;
      for (const PingLane& lane : round)
        lanes.push_back(std::async(round.size() == 1 ? std::launch::deferred : std::launch::async,
                                   [this, &lane] { return follow(lane); }));
      for (auto& lane : lanes) {
        auto tried = lane.get();
        out.pairs.insert(out.pairs.end(), std::make_move_iterator(tried.pairs.begin()),
                         std::make_move_iterator(tried.pairs.end()));
        if (out.ended.empty()) out.ended = std::move(tried.ended);
      }
      if (!out.ended.empty()) break;
    }
    if (!run_.plan && out.ended.empty()) measure_again(rounds, out);
    return out;
  }

 private:
  // One that is slow beside its like may have had bad luck: its better figures count. rounds: of
  // one pair each.
  void measure_again(const std::vector<PingRound>& rounds, Tried& tried) {
    const auto slow = slow_pairs(tried.pairs);
    planned_ += slow.size();
    for (const std::size_t i : slow) {
      Tried again = follow(rounds[i].front());
      tried.ended = std::move(again.ended);
      if (!tried.ended.empty()) return;
      PairResult& before = tried.pairs[i];
      again.pairs.front().attempts = before.attempts + 1;
      if (faster(before, again.pairs.front()))
        before.attempts = again.pairs.front().attempts;
      else
        before = std::move(again.pairs.front());
    }
  }

  Tried follow(const PingLane& lane) {
    Tried out;
    try {
      for (const auto& pair : lane) out.pairs.push_back(try_pair(pair));
    } catch (const PingEnded& end) {
      out.ended = end.what();
    } catch (const BadMessage& bad) {
      out.ended = fmt::format("a host answered what makes no sense: {}", bad.what());
    }
    return out;
  }

  PairResult try_pair(const PingPair& pair) {
    auto result = pair_result(pair, hosts_, conductor_.attempt(pair));
    // NCCL would have tried again: a neighbour's answer can get lost.
    if (timed_out_nearby(result)) {
      result = pair_result(pair, hosts_, conductor_.attempt(pair));
      result.attempts = 2;
    }
    const std::lock_guard lock(telling_);
    // Figures of pairs that were tried beside others say nothing.
    const auto line = run_.plan ? ping_outcome(result) : ping_line(result);
    run_.tell(fmt::format("[{}/{}] {}", ++told_, planned_, line));
    return result;
  }

  const PingRun& run_;
  PingConductor& conductor_;
  const std::vector<HostDescription>& hosts_;
  std::size_t planned_ = 0;
  std::mutex telling_;
  std::size_t told_ = 0;
};

PingResult conduct(const PingRun& run, std::vector<wire::JsonSocket> sockets,
                   PingScope scope = {}) {
  PingConductor conductor(std::move(sockets), run.traffic, run.deadline, run.stop);
  std::vector<HostDescription> hosts;
  std::vector<PairResult> results;
  scope.matrix = run.matrix;
  scope.judge_from = !run.hcas.empty() || run.peer_hcas.empty();
  scope.judge_to = !run.peer_hcas.empty() || run.hcas.empty();
  scope.all_hcas = run.hcas.empty() && run.peer_hcas.empty();
  scope.alone = !run.plan;
  try {
    hosts = conductor.describe();
    const auto rounds = run.plan ? run.plan(hosts) : one_at_a_time(run, hosts);
    std::set<std::pair<std::size_t, std::size_t>> meeting;
    for (const auto& round : rounds)
      for (const auto& lane : round) {
        scope.planned += lane.size();
        for (const auto& pair : lane) meeting.emplace(pair.from_host, pair.to_host);
      }
    scope.meetings = conductor.meet(meeting);
    auto tried = Rounds(run, conductor, hosts).carry_out(rounds, scope.planned);
    results = std::move(tried.pairs);
    scope.ended = std::move(tried.ended);
  } catch (const PingEnded& end) {
    scope.ended = end.what();
  } catch (const BadMessage& bad) {
    scope.ended = fmt::format("a host answered what makes no sense: {}", bad.what());
  }
  auto out = ping_result(std::move(hosts), std::move(results), std::move(scope));
  if (run.sequel && out.scope.ended.empty()) run.sequel(out, conductor.sockets());
  conductor.end(out.scope.ended.empty() ? "finished" : out.scope.ended);
  return out;
}

json about(const char* role, int task, int tasks = 1) {
  return {{"role", role}, {"task", task}, {"speaks_for", tasks}};
}

// How many tasks this one speaks for, itself among them.
int tasks_of(const PingRun& run, const LaunchedTask& task) {
  return run.by_node ? std::clamp(task.local_tasks.value_or(1), 1, task.tasks) : 1;
}

}  // namespace

Meeting ping_meeting(const PingRun& run) {
  return {.service = "ping",
          .token = run.token,
          .error_kind = "address",
          .hint = "there, run: nccl-net-diag ping --listen"};
}

TcpAddress parse_ping_address(const std::string& text) {
  if (auto address = parse_tcp_address(text, kPingPort)) return *address;
  throw CallError(kWrongCall, "address", fmt::format("\"{}\" is no HOST or HOST:PORT", text), text);
}

namespace {

// Answers whoever conducts, until it is over, or the user or the deadline ends it.
PingServed serve(wire::JsonSocket& conductor, const PingRun& run) {
  const auto late = [&run] { return Clock::now() >= run.deadline; };
  auto served = serve_ping(conductor, run.setup, [&] { return run.stop() || late(); });
  if (run.stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
  if (!served.finished && late())
    throw CallError(kNotExamined, "deadline",
                    fmt::format("not over by the deadline, after {} pairs", served.attempts));
  return served;
}

}  // namespace

int listen_for_ping(const PingRun& run, const TcpAddress& address,
                    const std::function<void(const std::string&)>& told_port) {
  Listener listener(address, ping_meeting(run));
  told_port(listener.port());
  for (;;) {
    if (run.stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
    if (Clock::now() >= run.deadline)
      throw CallError(kNotExamined, "deadline", "nobody called before the deadline");
    auto caller = listener.attend(run.tell);
    if (!caller) {
      poll(nullptr, 0, kWaitTickMs);
      continue;
    }
    if (caller->about.value("role", json()) != "conductor") {
      run.tell(
          fmt::format("{} called as a task of --hosts; here it is --listen.", caller->address));
      continue;
    }
    run.tell(fmt::format("{} pings this host.", caller->address));
    const auto served = serve(caller->socket, run);
    if (!served.finished)
      throw CallError(kNotExamined, "ended",
                      fmt::format("{} ended the ping after {} pairs: {}", caller->address,
                                  served.attempts, served.why));
    run.tell(fmt::format("{} has finished: {} pairs tried. It shows the result.", caller->address,
                         served.attempts));
    return kFine;
  }
}

PingResult ping_listener(const PingRun& run, const TcpAddress& address) {
  // Somebody has just started it there: who is not there soon will not come.
  constexpr auto kReachPatience = std::chrono::seconds(20);
  run.tell(fmt::format("calling {}", address.text()));
  auto listener = call_listener(address, ping_meeting(run), about("conductor", 0),
                                std::min(run.deadline, Clock::now() + kReachPatience), run.stop);
  const LocalAgent own(run.setup);
  std::vector<wire::JsonSocket> sockets;
  sockets.push_back(own.socket());
  sockets.push_back(std::move(listener));
  return conduct(run, std::move(sockets));
}

namespace {

int number_in(const json& about, const char* name) {
  const auto number = about.value(name, json());
  return number.is_number_integer() ? number.get<int>() : 0;
}

struct Arrived {
  wire::JsonSocket socket;
  int tasks = 1;  // that it speaks for
};
using Arrivals = std::map<int, Arrived>;  // by task

int tasks_of(const Arrivals& agents) {
  int out = 0;
  for (const auto& [task, agent] : agents) out += agent.tasks;
  return out;
}

// Whether there is nobody to wait for.
bool all_came(const PingRun& run, const Arrivals& arrivals, int tasks, int own) {
  if (own + tasks_of(arrivals) >= tasks) return true;
  if (!run.gone) return false;
  for (int task = 1; task < tasks; ++task)
    if (!arrivals.contains(task) && !run.gone(task)) return false;
  return true;
}

// The agents of `tasks` tasks, of which `own` speak for themselves.
Arrivals attend_agents(const PingRun& run, Listener& listener, int tasks, int own) {
  const auto until = std::min(run.deadline, run.arrival.value_or(run.deadline));
  Arrivals out;
  while (!all_came(run, out, tasks, own)) {
    if (run.stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
    if (Clock::now() >= until) {
      if (run.arrival) break;
      throw CallError(kNotExamined, "deadline",
                      fmt::format("only {} of {} tasks came", own + tasks_of(out), tasks));
    }
    auto caller = listener.attend(run.tell);
    if (!caller) {
      poll(nullptr, 0, kWaitTickMs);
      continue;
    }
    const int its = number_in(caller->about, "task");
    if (caller->about.value("role", json()) != "agent" || its <= 0 || its >= tasks) continue;
    const int speaks_for = std::clamp(number_in(caller->about, "speaks_for"), 1, tasks);
    out.insert_or_assign(its, Arrived{std::move(caller->socket), speaks_for});
  }
  return out;
}

// Between those hosts and the agents' as far as they come. own: tasks that need no agent, task 0
// among them.
PingResult conduct_agents(const PingRun& run, Listener& listener, int tasks, int own,
                          std::vector<wire::JsonSocket> hosts) {
  auto arrived = attend_agents(run, listener, tasks, own);
  PingScope scope;
  const int came = own + tasks_of(arrived);
  scope.absent = static_cast<std::size_t>(std::max(tasks - came, 0));
  const bool one_each = own == 1 && came == 1 + static_cast<int>(arrived.size());
  for (int task = 1; one_each && task < tasks; ++task)
    if (!arrived.contains(task)) scope.missing.push_back(task);
  for (auto& [number, agent] : arrived) hosts.push_back(std::move(agent.socket));
  return conduct(run, std::move(hosts), std::move(scope));
}

}  // namespace

std::optional<PingResult> ping_as_task(const PingRun& run, const LaunchedTask& task,
                                       const TcpAddress& root) {
  if (task.task != 0) {
    auto meeting = ping_meeting(run);
    meeting.hint.clear();  // nobody is to run anything there
    auto conductor = call_listener(root, meeting, about("agent", task.task, tasks_of(run, task)),
                                   run.arrival.value_or(run.deadline), run.stop);
    const auto served = serve(conductor, run);
    if (!served.finished) throw CallError(kNotExamined, "ended", "task 0: " + served.why);
    return std::nullopt;
  }
  const LocalAgent own(run.setup);
  Listener listener(root, ping_meeting(run));
  std::vector<wire::JsonSocket> sockets;
  sockets.push_back(own.socket());
  return conduct_agents(run, listener, task.tasks, tasks_of(run, task), std::move(sockets));
}

PingResult ping_between_tasks(const PingRun& run, Listener& listener, int tasks) {
  return conduct_agents(run, listener, tasks, 1, {});
}

}  // namespace nnd::cli
