// The conducting side of a ping: tells two hosts what to do, pair by pair, and collects what they
// report. One attempt at a time, so that none disturbs another's figures.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/exchange/listener.h"
#include "cli/ping/request.h"

namespace nnd::cli {

// One port of a host with one of another.
struct PingPair {
  std::size_t from_host = 0, to_host = 0;  // index into the hosts
  std::string from, to;                    // "mlx5_0:1"
};

// The ping can't go on: interrupted, or a host is gone. What was found until then remains.
class PingEnded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class PingConductor {
 public:
  // stop: asked several times a second.
  PingConductor(std::vector<wire::JsonSocket> hosts, PingTraffic traffic,
                Clock::time_point deadline, std::function<bool()> stop);
  ~PingConductor();  // tells the hosts that it is over

  // What each host says of itself (ping_describe.h). Throws PingEnded.
  const std::vector<nlohmann::json>& describe();

  struct Outcome {
    nlohmann::json from, to;  // the halves' reports (ping_half.h)
    double seconds = 0;
  };
  // Throws PingEnded.
  Outcome attempt(const PingPair& pair);

  // why: "finished", or what ended it early.
  void end(const std::string& why);

 private:
  using Hosts = std::vector<std::size_t>;

  std::string name(std::size_t host) const;
  void ask(std::size_t host, const nlohmann::json& request);
  std::optional<nlohmann::json> reply(std::size_t host, int attempt);
  bool all_reports(std::size_t from, std::size_t to, nlohmann::json (&reports)[2],
                   std::chrono::milliseconds patience);
  void check();

  std::vector<wire::JsonSocket> hosts_;
  PingTraffic traffic_;
  Clock::time_point deadline_;
  std::function<bool()> stop_;
  std::vector<nlohmann::json> described_;
  int attempts_ = 0;
  bool over_ = false;
};

}  // namespace nnd::cli
