// The processes, nodes, addresses and connections of a job that never ran, and what becomes of
// each.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "synth/job.h"
#include "synth/writer.h"

namespace nnd::synth {

constexpr int kPerNode = 8;
constexpr Ns kSec = 1'000'000'000;
constexpr Ns kMs = 1'000'000;
constexpr Ns kFault = 30 * kSec;  // when it happens
constexpr Ns kEnd = 60 * kSec;
constexpr Ns kHangEnd = 200 * kSec;  // when somebody ends a job that hangs

enum class Fate : std::uint8_t {
  kFine,
  kFailed,
  kRefused,
  kStuck,
  kNothingCame,
  kNoReceive,
  kNever
};

struct Link {
  int from = 0, to = 0;  // ranks
  std::uint64_t listen = 0, send_conn = 0, recv_conn = 0;
  std::uint32_t send_qp = 0, recv_qp = 0;
  Fate send = Fate::kFine, recv = Fate::kFine;
};

inline std::size_t at(int index) { return static_cast<std::size_t>(index); }
inline int node_of(int rank) { return rank / kPerNode; }
inline int rail(int rank) { return rank % kPerNode; }
inline bool touches(const Link& link, int rank) { return link.from == rank || link.to == rank; }

// Ranks are the places of processes here: what they are called is `label`.
struct Cluster {
  explicit Cluster(const Spec& of);

  Ns between(Ns least, Ns most);
  int node_count() const { return (spec.ranks + kPerNode - 1) / kPerNode; }
  const std::string& host(int rank) const { return names[at(node_of(rank))]; }
  std::string dev(int rank) const;
  int port(int rank) const { return two_ports ? 1 + rail(rank) % 2 : 1; }
  std::string port_name(int rank) const;  // "mlx5_0:1"
  int label(int rank) const { return labels[at(rank)]; }
  std::string address(int rank) const;
  std::string subnet(int rank) const;
  std::string gid(int rank) const { return "::ffff:" + address(rank); }
  Writer& log(int rank) { return logs[at(rank)]; }

  Spec spec;
  std::mt19937_64 random;
  // Ranks that something is with; -1: there is none.
  int absent = -1, stray = -1, slow = -1, odd = -1, idle = -1, mismatched = -1, port_down = -1,
      unlocked = -1;               // unlocked: on its node no memory can be locked
  bool two_ports = false;          // HCAs have two, each on a rail of its own
  std::vector<int> labels;         // the ranks' own numbers
  std::vector<std::string> names;  // by node, as the next ones
  std::vector<Ns> mono, wrong;
  std::vector<Writer> logs;  // by rank, like all that follow
  std::vector<Ns> ends;
  std::vector<bool> clean;
  std::vector<std::uint64_t> conns, failures;
  std::map<int, std::uint64_t> listens;
  std::vector<Link> links;
  std::vector<std::pair<Link, Ns>> echoes;

 private:
  void name_all();
  void make_links();
};

// What happens to it.
Planted plant(Cluster& cluster);
// What its processes write of that.
void tell(Cluster& cluster);

}  // namespace nnd::synth
