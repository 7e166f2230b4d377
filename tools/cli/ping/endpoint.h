// One end of an attempt: a rank process that listens on an HCA, connects both ways, and moves data.
// Nothing of it outlives the attempt but its report.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/ping/protocol.h"
#include "cli/ping/rank.h"
#include "driver/clock.h"

namespace nnd::cli {

class PingEndpoint {
 public:
  PingEndpoint(const RankSetup& setup, int attempt, PingTick tick);

  // The transport's handle, for the other end.
  struct Prepared {
    std::string handle;     // empty: it came no further
    EndpointReport report;  // then
  };
  Prepared prepare(const std::string& hca, int dev);
  EndpointReport go(const PingRequest& request);
  EndpointReport cancel();

 private:
  void open(const PingRequest& request, EndpointReport& report);
  void measure(const PingRequest& request, EndpointReport& report);
  nlohmann::json transfer(nlohmann::json request, const char* stage);
  EndpointReport finish(EndpointReport report);
  std::chrono::milliseconds left() const;

  PingRank rank_;
  int context_ = 0, dev_ = -1, listener_ = 0;
  int send_ = 0, recv_ = 0;  // connections
  driver::Clock::time_point deadline_ = driver::Clock::now();
};

}  // namespace nnd::cli
