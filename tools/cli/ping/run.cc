#include "cli/ping/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "cli/common/call_error.h"
#include "cli/common/checked_json.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"
#include "cli/ping/agent.h"
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
  explicit LocalAgent(const PingHost& host) {
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
      serve_ping(conductor, host, [] { return false; });
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

PingResult conduct(const PingRun& run, std::vector<wire::JsonSocket> sockets) {
  PingConductor conductor(std::move(sockets), run.traffic, run.deadline, run.stop);
  std::vector<HostDescription> hosts;
  std::vector<PairResult> results;
  PingScope scope;
  scope.matrix = run.matrix;
  scope.judge_from = !run.hcas.empty() || run.peer_hcas.empty();
  scope.judge_to = !run.peer_hcas.empty() || run.hcas.empty();
  scope.all_hcas = run.hcas.empty() && run.peer_hcas.empty();
  try {
    hosts = conductor.describe();
    const auto pairs = all_pairs(run, hosts);
    scope.planned = pairs.size();
    for (const auto& pair : pairs) {
      auto result = pair_result(pair, hosts, conductor.attempt(pair));
      // NCCL would have tried again: a neighbour's answer can get lost.
      if (timed_out_nearby(result)) {
        result = pair_result(pair, hosts, conductor.attempt(pair));
        result.attempts = 2;
      }
      run.tell(fmt::format("[{}/{}] {}", results.size() + 1, scope.planned, ping_line(result)));
      results.push_back(std::move(result));
    }
    conductor.end("finished");
  } catch (const PingEnded& end) {
    scope.ended = end.what();
    conductor.end(scope.ended);
  } catch (const BadMessage& bad) {
    scope.ended = fmt::format("a host answered what makes no sense: {}", bad.what());
    conductor.end(scope.ended);
  }
  return ping_result(std::move(hosts), std::move(results), std::move(scope));
}

Meeting meeting_of(const PingRun& run) {
  return {.service = "ping",
          .token = run.token,
          .error_kind = "address",
          .hint = "there, run: nccl-net-diag ping --listen"};
}

json about(const char* role, int task) { return {{"role", role}, {"task", task}}; }

}  // namespace

TcpAddress parse_ping_address(const std::string& text) {
  if (auto address = parse_tcp_address(text, kPingPort)) return *address;
  throw CallError(kWrongCall, "address", fmt::format("\"{}\" is no HOST or HOST:PORT", text), text);
}

namespace {

// Answers whoever conducts, until it is over, or the user or the deadline ends it.
PingServed serve(wire::JsonSocket& conductor, const PingRun& run) {
  const auto late = [&run] { return Clock::now() >= run.deadline; };
  auto served = serve_ping(conductor, run.host, [&] { return run.stop() || late(); });
  if (run.stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
  if (!served.finished && late())
    throw CallError(kNotExamined, "deadline",
                    fmt::format("not over by the deadline, after {} pairs", served.attempts));
  return served;
}

}  // namespace

int listen_for_ping(const PingRun& run, const TcpAddress& address,
                    const std::function<void(const std::string&)>& told_port) {
  Listener listener(address, meeting_of(run));
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
  auto listener = call_listener(address, meeting_of(run), about("conductor", 0),
                                std::min(run.deadline, Clock::now() + kReachPatience), run.stop);
  const LocalAgent own(run.host);
  std::vector<wire::JsonSocket> sockets;
  sockets.push_back(own.socket());
  sockets.push_back(std::move(listener));
  return conduct(run, std::move(sockets));
}

std::optional<PingResult> ping_as_task(const PingRun& run, const LaunchedTask& task,
                                       const std::vector<TcpAddress>& hosts) {
  if (task.task != 0) {
    auto root = call_listener(hosts.front(), meeting_of(run), about("agent", task.task),
                              run.deadline, run.stop);
    const auto served = serve(root, run);
    if (!served.finished) throw CallError(kNotExamined, "ended", "task 0: " + served.why);
    return std::nullopt;
  }
  const LocalAgent own(run.host);
  Listener listener(hosts.front(), meeting_of(run));
  std::map<int, wire::JsonSocket> arrived;
  while (static_cast<int>(arrived.size()) < task.tasks - 1) {
    if (run.stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
    if (Clock::now() >= run.deadline)
      throw CallError(kNotExamined, "deadline",
                      fmt::format("only {} of {} tasks came", arrived.size() + 1, task.tasks));
    auto caller = listener.attend(run.tell);
    if (!caller) {
      poll(nullptr, 0, kWaitTickMs);
      continue;
    }
    const auto number = caller->about.value("task", json());
    const int its = number.is_number_integer() ? number.get<int>() : 0;
    if (caller->about.value("role", json()) != "agent" || its <= 0 || its >= task.tasks) continue;
    arrived.insert_or_assign(its, std::move(caller->socket));
  }
  std::vector<wire::JsonSocket> sockets;
  sockets.push_back(own.socket());
  for (auto& [number, socket] : arrived) sockets.push_back(std::move(socket));
  return conduct(run, std::move(sockets));
}

}  // namespace nnd::cli
