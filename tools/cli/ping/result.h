// What a ping found: docs/ping.md names the members of its JSON. Pure functions of what the hosts
// reported.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/ping/protocol.h"

namespace nnd::cli {

// One port of a host with one of another.
struct PingPair {
  std::size_t from_host = 0, to_host = 0;  // index into the hosts
  std::string from, to;                    // "mlx5_0:1"
};

// Ports of a host that NCCL takes and the patterns select ("mlx5_0", "mlx5_*", "mlx5_0:1"; none:
// all). Throws CallError for a pattern that fits none, with the nearest name and why it is not
// taken.
std::vector<std::string> select_ports(const HostDescription& host,
                                      const std::vector<std::string>& patterns);

// matrix: each with each; else each with the one of the same name, or of the same place where the
// hosts have no name in common.
std::vector<PingPair> plan_pairs(std::size_t from_host, const std::vector<std::string>& from,
                                 std::size_t to_host, const std::vector<std::string>& to,
                                 bool matrix);

// Pairs of the same two hosts, tried one after the other, and such that are tried at once: no host
// is in two of them.
using PingLane = std::vector<PingPair>;
using PingRound = std::vector<PingLane>;

// What became of a pair, as its two ends report it.
struct PairOutcome {
  EndpointReport from, to;
  double seconds = 0;
};

enum class PairState {
  kReachable,
  kRefused,      // by the policy in effect
  kUnreachable,  // a QP could not be moved
  kSilent,       // nothing came until the deadline
  kFailed
};
const char* text_of(PairState state);

struct PairEnd {
  std::string host, hca, netdev, gid, subnet;
  int port = 0;
  std::optional<int> mtu, gid_index;
  std::vector<std::string> rules;

  std::string port_name() const;  // "mlx5_0:1"
};

struct Bandwidth {
  std::size_t size = 0;
  double there_gb_per_s = 0, back_gb_per_s = 0;

  double slower() const { return std::min(there_gb_per_s, back_gb_per_s); }
};

// What the ports and PCIe links of both ends carry: the least of it.
struct Allowed {
  double gb_per_s = 0;
  std::string by;     // "both ports", "b's mlx5_0:1", "the PCIe link of b's mlx5_0"
  bool slot = false;  // it is a PCIe link, and the ports carry more
};

struct PairResult {
  PairEnd from, to;
  PairState state = PairState::kFailed;
  bool apart = false;  // no wonder: the ends are in different subnets
  double seconds = 0;
  int attempts = 1;
  std::optional<int> path_mtu;
  std::optional<double> connect_ms;
  std::optional<Latency> latency;
  std::vector<Bandwidth> bandwidth;
  std::optional<Allowed> allowed;  // unset: a port's speed isn't known
  std::uint64_t verified_bytes = 0;
  // Where it is not reachable.
  bool told_by_from = true;  // which end tells the rest
  std::string stage, why, nccl_warning;
  std::optional<log::Diagnosis> told;  // cause, sentence and remedy
  std::optional<int> error, status;
  std::string status_name, transition;
  // What the policy and the log say besides; first: whether it was the end that called.
  std::vector<std::pair<bool, log::Diagnosis>> rules;
  std::vector<log::Diagnosis> troubles;

  bool reachable() const { return state == PairState::kReachable; }
  const char* policy() const;      // "fine", "warned", "refused"
  std::string error_name() const;  // "ETIMEDOUT"; empty where there is no errno
};

PairResult pair_result(const PingPair& pair, const std::vector<HostDescription>& hosts,
                       const PairOutcome& outcome);

struct PingScope {
  bool matrix = false;
  std::size_t planned = 0;   // how many pairs there were to be
  std::string ended;         // why it ended early, or empty
  std::size_t absent = 0;    // how many tasks did not come in time
  std::vector<int> missing;  // which; none where a node has several
  // Whether a port of that end that reaches no other is a fault: not where only some of those that
  // it could reach were asked for.
  bool judge_from = true, judge_to = true;
  bool all_hcas = true;              // nobody chose some of them: what one host lacks is a fault
  std::vector<MeetingTry> meetings;  // of the hosts of the pairs, both ways
  bool alone = true;                 // pairs were tried one by one: their figures are theirs
};

// All of it.
struct PingResult {
  std::vector<HostDescription> hosts;
  std::vector<PairResult> pairs;
  PingScope scope;
  std::map<PairState, int> counts;  // pairs, by state
  int exit_code = 0;
  std::string text;                 // one sentence or two
  std::vector<std::string> broken;  // what is wrong, in sentences
  std::vector<std::string> slow;    // pairs that are slow beside their like
  std::vector<std::string> notes;   // what bounds all of them, and is no fault
};

PingResult ping_result(std::vector<HostDescription> hosts, std::vector<PairResult> pairs,
                       PingScope scope);

nlohmann::json to_json(const PairResult& pair);
nlohmann::json to_json(const PingResult& result);

// The pairs of two hosts as a grid: ports of the one down, of the other across.
struct PingGrid {
  std::string from_host, to_host;
  std::vector<std::string> rows, columns;  // "mlx5_0:1", in the order of the pairs
  std::map<std::pair<std::string, std::string>, const PairResult*> pairs;  // by row and column
};

// Points into `pairs`.
std::vector<PingGrid> ping_grids(const std::vector<PairResult>& pairs);

}  // namespace nnd::cli
