// What the side that conducts a ping asks of a host, and its answers. Every member is checked when
// a request is read: the limits hold whatever the other side says.
//
//   {"do": "describe"}                       this host's HCAs, verdicts, NCCL
//   {"do": "prepare", "attempt", "hca", "dev"}
//                                            a rank that listens on NCCL's device of that number,
//                                            which is this HCA's: {"handle"}
//   {"do": "go", "attempt", "handle", "first", "traffic"}
//                                            connects both ways, moves data: the half's report
//   {"do": "cancel", "attempt"}              ends an attempt; answered by its report
//   {"do": "end", "why"}                     the ping is over
//
// Answers are {"attempt", "reply"}, or {"left": why} when a host leaves by itself.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace nnd::cli {

struct PingTraffic {
  std::vector<std::size_t> sizes{1U << 20U};  // bytes of the messages of which streams are made
  int stream_ms = 500;                        // per size and direction
  int latency_ms = 500;
  int deadline_ms = 20000;  // of the attempt, beside loading

  std::size_t window(std::size_t size) const;  // messages in flight
  nlohmann::json to_json() const;
};

struct PingRequest {
  enum class What { kDescribe, kPrepare, kGo, kCancel, kEnd };
  What what = What::kEnd;
  int attempt = 0;
  std::string hca;  // "mlx5_0:1"
  int dev = 0;
  std::string handle;
  bool first = false;
  PingTraffic traffic;
  std::string why;
};

class BadRequest : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::size_t kLargestPing = 64U << 20U;  // bytes of a message
inline constexpr std::size_t kMostPingSizes = 16;
inline constexpr int kLongestPhaseMs = 60000;
inline constexpr int kLongestAttemptMs = 600000;

// Throws BadRequest.
PingRequest parse_ping_request(const nlohmann::json& message);

}  // namespace nnd::cli
