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

struct PingRun {
  PingHost host;
  std::string token;
  PingTraffic traffic;
  bool matrix = false;
  std::vector<std::string> hcas, peer_hcas;  // patterns; none: all
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

// As a launcher's task, one a host: task 0 conducts between all hosts and returns the result, the
// others serve and return nothing. hosts: by task; port: where task 0 listens. Throws CallError.
std::optional<PingResult> ping_as_task(const PingRun& run, const LaunchedTask& task,
                                       const std::vector<TcpAddress>& hosts);

}  // namespace nnd::cli
