// A QP that could not be moved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diagnosis/diagnosis.h"
#include "diagnosis/link_layers.h"
#include "diagnosis/path.h"

namespace nnd::diagnosis {

// How a remote GID relates to one of ours.
enum class Reachability : std::uint8_t {
  kUnknown,          // not enough is known: say nothing
  kSame,             // same subnet
  kRouted,           // another subnet, a route leaves by the GID's own interface
  kNoRoute,          // another subnet, no route leaves by it: the kernel can't resolve the peer
  kDifferentFamily,  // IPv4 here, IPv6 there, or the reverse
  kOtherPrefix       // InfiniBand: another subnet prefix, perhaps with a router between
};

struct FailedTransition {
  std::string place;                    // "mlx5_0:1"
  std::string local;                    // address of the local GID: "10.0.1.2"; empty: not known
  std::string remote;                   // of the peer's
  std::uint32_t qp = 0, remote_qp = 0;  // remote_qp: as the peer told it; 0: not known
  std::string_view from;                // "INIT"
  std::string_view to;                  // "RTR"
  int error = 0;
  unsigned attempt = 1;
  std::int64_t dur_us = 0;
  Reachability reach = Reachability::kUnknown;
  std::string why = {};          // one clause to `reach`
  bool own = false;              // the remote GID is that of another HCA of this node
  bool families_differ = false;  // by the GIDs alone, where `reach` is not known
  bool link_local = false;       // the local GID, likewise
  LinkLayers layers = {};
  Path path = {};            // asked for where the errno is about it
  bool port_down = false;    // this end's, by its own word
  double down_ago_sec = -1;  // since then; -1: not known
  int empty_pkey = -1;       // of a move to INIT: the index of the partition key, and there is none
};

// Whether a move to RTR with this errno failed on the way to the peer.
bool about_reach(int error) noexcept;

// broken: what the pair's rules said of the two ends before the QP was moved; null: nothing. Where
// that explains the errno, it is the cause.
Diagnosis diagnose(const FailedTransition& seen, const Diagnosis* broken = nullptr);

// What NCCL does after such a failure, for the event that tells it first.
struct Retries {
  long count = 0;             // how often it repeats the call; 0: it gives up
  bool usual = true;          // in number and time
  bool version_known = true;  // false: a release before 2.24 gives up
};
std::string what_nccl_does(const Retries& retries);  // "NCCL gives up now."

// Whether ends that are so make a move to RTR fail like this.
bool explains(Cause broken, int error) noexcept;

}  // namespace nnd::diagnosis
