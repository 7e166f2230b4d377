// The conducting side of a ping: tells hosts what to do, pair by pair, and collects what they
// report.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/exchange/listener.h"
#include "cli/ping/result.h"

namespace nnd::cli {

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

  // What each host says of itself. Throws PingEnded.
  const std::vector<HostDescription>& describe();

  // Whether the two hosts of each pair come to each other where ranks would meet; once the hosts
  // are described. Who can't be tried, as where its address is none of this fabric's, is left out.
  // Throws PingEnded.
  std::vector<MeetingTry> meet(const std::set<std::pair<std::size_t, std::size_t>>& pairs);

  // Throws PingEnded. Several threads may try pairs at once, as long as no host is in two of them.
  PairOutcome attempt(const PingPair& pair);

  // In describe()'s order, for what is asked of hosts beside pings.
  std::vector<wire::JsonSocket>& sockets() { return hosts_; }

  // why: "finished", or what ended it early.
  void end(const std::string& why);

 private:
  // What an end answered: a handle for the other one, or a report.
  struct Answer {
    std::optional<std::string> handle;
    std::optional<EndpointReport> report;

    bool there() const { return handle || report; }
    bool failed() const { return report && !report->done; }
  };
  using Answers = std::array<Answer, 2>;

  std::string name(std::size_t host) const;
  void ask(std::size_t host, const nlohmann::json& request);
  std::optional<nlohmann::json> reply(std::size_t host, int attempt);
  // Asks these hosts at once, and waits for all.
  std::map<std::size_t, nlohmann::json> ask_all(
      const std::map<std::size_t, nlohmann::json>& requests, std::chrono::milliseconds patience);
  Answers answers(const PingPair& pair, int attempt, Answers so_far,
                  std::chrono::milliseconds patience);
  void check();

  std::vector<wire::JsonSocket> hosts_;
  PingTraffic traffic_;
  Clock::time_point deadline_;
  std::function<bool()> stop_;
  std::vector<HostDescription> described_;
  std::atomic<int> attempts_ = 0;
  bool over_ = false;
};

}  // namespace nnd::cli
