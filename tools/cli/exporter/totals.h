// What the connections of living processes have moved in all. A closed connection's place in the
// black box is free again, but a counter must not fall: what it had counted stays in the sum.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/top/view.h"

namespace nnd::cli {

// As labels have it; empty: not known.
struct RankName {
  std::string job, rank;

  auto operator<=>(const RankName&) const = default;
};

struct PortOf {
  std::string device, port;

  auto operator<=>(const PortOf&) const = default;
};

using Latencies = std::array<std::uint64_t, nccl_net_diag::box::kLatencyBuckets>;

struct Moved {
  std::uint64_t bytes = 0, completed = 0, failed = 0;
};

struct Direction {
  RankName who;
  PortOf port;
  bool sends = false;

  auto operator<=>(const Direction&) const = default;
};

class Totals {
 public:
  // Of processes as they are seen one look after the other.
  void add(const std::vector<ShownProcess>& processes);

  const std::map<Direction, Moved>& moved() const { return moved_; }
  // Of requests that were sent, by job.
  const std::map<std::pair<std::string, PortOf>, Latencies>& latencies() const {
    return latencies_;
  }

 private:
  struct Counted {
    Direction direction;
    Moved moved;
    Latencies latencies{};
    bool missed = false;  // at the last look: it may only have been torn
  };
  // By connection, of one process.
  using Connections = std::map<std::uint32_t, Counted>;

  void retire(const Counted& one);
  void forget_jobs_that_ended(const std::vector<ShownProcess>& processes);

  std::map<std::pair<int, std::uint64_t>, Connections> living_;  // by pid and the box's number
  std::map<Direction, Moved> moved_, retired_;
  std::map<std::pair<std::string, PortOf>, Latencies> latencies_, retired_latencies_;
};

RankName name_of(const ShownProcess& process);
RankName name_of(std::string_view job, std::optional<int> rank);
// Of each of its connections. NCCL takes 32 ports at most: what a box has more is "other".
inline constexpr std::size_t kMostPorts = 32;
std::vector<PortOf> ports_of(const ShownProcess& process);

}  // namespace nnd::cli
