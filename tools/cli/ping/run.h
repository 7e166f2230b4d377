// Carrying out a ping: as the listening side, or as the one that calls and conducts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/launcher.h"
#include "cli/ping/conduct.h"
#include "cli/ping/rank.h"

namespace nnd::cli {

inline constexpr const char* kPingPort = "18515";  // where --listen listens and HOST is called

// "host", "host:port", "[::1]", "[::1]:port". Throws CallError.
TcpAddress parse_ping_address(const std::string& text);

// Which pairs are tried, and which of them at once.
using PingPlan = std::function<std::vector<PingRound>(const std::vector<HostDescription>&)>;

// What follows the pairs, while the hosts are still there: their connections are in the order of
// the result's hosts.
using PingSequel = std::function<void(const PingResult&, std::vector<wire::JsonSocket>&)>;

struct PingRun {
  RankSetup setup;
  std::string token;
  PingTraffic traffic;
  bool matrix = false;
  std::vector<std::string> hcas, peer_hcas;  // patterns; none: all
  PingPlan plan;                             // none: all pairs of all hosts, one at a time
  PingSequel sequel;                         // none: nothing follows
  bool by_node = false;                      // a task speaks for all of its node
  // Whether that task, which has not come, will not come any more; none: nobody knows.
  std::function<bool(int)> gone;
  // Until when tasks may come; unset: until the deadline, and all must.
  std::optional<Clock::time_point> arrival;
  Clock::time_point deadline;
  std::function<bool()> stop;                    // asked several times a second
  std::function<void(const std::string&)> tell;  // progress, one line each
};

// Listens, serves one ping. told_port: called with the port once there is one. The exit code.
// Throws CallError.
int listen_for_ping(const PingRun& run, const TcpAddress& address,
                    const std::function<void(const std::string& port)>& told_port);

// Pings the listener at that address. Throws CallError.
PingResult ping_listener(const PingRun& run, const TcpAddress& address);

// As a launcher's task, one a host (by_node: each node's first): task 0 conducts between all hosts
// and returns the result, the others serve and return nothing. root: where task 0 listens. Throws
// CallError.
std::optional<PingResult> ping_as_task(const PingRun& run, const LaunchedTask& task,
                                       const TcpAddress& root);

// The same where task 0 is on none of the hosts and only conducts.
PingResult ping_between_tasks(const PingRun& run, Listener& listener, int tasks);

// Who meets for a ping.
Meeting ping_meeting(const PingRun& run);

}  // namespace nnd::cli
