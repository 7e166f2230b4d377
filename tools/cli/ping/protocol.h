// What the side that conducts a ping asks of a host, and what the host answers: typed, with every
// member checked when a message is read, so that the limits hold whatever the other side says.
//
//   {"do": "describe"}                       this host's HCAs, verdicts, NCCL: HostDescription
//   {"do": "listen", "address"}              at that address of its own, for others: {"port"},
//   empty
//                                            where it is none
//   {"do": "reach", "places": [{"address", "port"}]}
//                                            connects there and says no more: {"errors"}, errnos
//   {"do": "prepare", "attempt", "hca", "dev"}
//                                            a rank that listens on NCCL's device of that number,
//                                            which is this HCA's: {"handle"}, or a report where it
//                                            came no further
//   {"do": "go", "attempt", "handle", "first", "traffic"}
//                                            connects both ways, moves data: EndpointReport
//   {"do": "cancel", "attempt"}              ends an attempt; answered by its report
//   {"do": "end", "why"}                     the ping is over
//   {"do": "rehearse", ...}                  preflight's alone: cli/preflight/rehearsal.h
//
// Answers are {"attempt", "reply"}, or {"left": why} when a host leaves by itself. What reads a
// message throws BadMessage.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/checked_json.h"
#include "cli/common/tcp.h"
#include "cli/ping/meeting.h"
#include "log/job.h"

namespace nnd::cli {

inline constexpr std::size_t kLargestPing = 64U << 20U;  // bytes of a message
inline constexpr std::size_t kMostPingSizes = 16;
inline constexpr std::size_t kMostPlaces = 1024;
inline constexpr int kLongestPhaseMs = 60000;
inline constexpr int kLongestAttemptMs = 600000;

struct PingTraffic {
  std::vector<std::size_t> sizes{1U << 20U};  // bytes of the messages of which streams are made
  int stream_ms = 500;                        // per size and direction
  int latency_ms = 500;
  int deadline_ms = 20000;  // of the attempt, beside loading

  std::size_t window(std::size_t size) const;  // messages in flight
  nlohmann::json to_json() const;
};

struct PingRequest {
  enum class What { kDescribe, kListen, kReach, kPrepare, kGo, kCancel, kEnd };
  What what = What::kEnd;
  int attempt = 0;
  std::string hca;  // "mlx5_0:1"
  int dev = 0;
  std::string handle;
  bool first = false;
  PingTraffic traffic;
  std::string why;
  std::string address;             // of kListen
  std::vector<TcpAddress> places;  // of kReach
};

PingRequest parse_ping_request(const nlohmann::json& message);

// A port of a host's HCA, as `nccl-net-diag check` says it.
struct PortDescription {
  std::string hca;
  int port = 0;  // 0: the HCA cannot be opened
  std::string netdev, gid, subnet, verdict, link_layer;
  std::optional<int> mtu, gid_index;
  std::int64_t speed_mbps = 0;
  std::optional<double> slot_gbit;  // what the PCIe link of its card carries, in Gbit/s
  std::vector<std::string> reasons, rules;

  std::string name() const;  // "mlx5_0:1"
};

struct VerdictDescription {
  std::string decision, fact, rule, cause, remedy;
};

struct HostDescription {
  std::string host = "?", nccl, problem;  // problem: what cannot be had, or empty
  std::optional<int> net_version;
  std::vector<std::string> devices;  // "mlx5_0:1" in NCCL's order; empty: it is none
  std::vector<PortDescription> ports;
  std::vector<VerdictDescription> verdicts;
  std::vector<std::string> proposal, broken;
  int refused = 0;                            // HCAs that the policy refuses
  std::string socket_netdev, socket_address;  // of NCCL's own TCP sockets
  nlohmann::json whole;                       // as the host said it

  const PortDescription* find(const std::string& port) const;  // "mlx5_0:1"; null: none
};

HostDescription host_from(const nlohmann::json& reply);

struct Latency {
  std::uint64_t bytes = 0, samples = 0;
  double p50_us = 0, p99_us = 0, least_us = 0;
};

struct Stream {
  std::size_t size = 0;
  std::uint64_t bytes = 0;
  double gb_per_s = 0;
};

// What one end of an attempt logged, as far as it tells about the pair. Events of the process's
// start, which every attempt has, are left out.
struct AttemptEvents {
  std::optional<log::Dev> used;  // this end as its QPs had it
  std::optional<int> path_mtu;
  std::optional<log::Diagnosis> first;   // what tells why it failed
  std::vector<log::Diagnosis> rules;     // the policy's words on the pair
  std::vector<log::Diagnosis> troubles;  // every event of the pair that is no info

  void add(const log::Event& event);
};

// What became of one end of an attempt. Members that were not reached are unset.
struct EndpointReport {
  bool done = false, late = false;
  std::string stage, why;  // where it ended, and one clause why
  int rc = 0;
  std::optional<double> connect_ms;
  std::uint64_t verified_bytes = 0;
  std::optional<Latency> latency;
  std::vector<Stream> streams;
  std::string nccl_warning;  // NCCL's last words
  AttemptEvents events;
};

nlohmann::json to_json(const Latency& latency);
nlohmann::json to_json(const AttemptEvents& events);
nlohmann::json to_json(const EndpointReport& report);
EndpointReport report_from(const Fields& fields);

}  // namespace nnd::cli
