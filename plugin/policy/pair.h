// Judging a pair of ends at a connection's first move to RTR, from the attributes that
// ibv_modify_qp gets. A pure function; some microseconds, no I/O.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "facts/subnet.h"
#include "policy/verdict.h"

namespace nnd::policy {

struct Pair {
  std::string_view device;
  unsigned port = 1;
  int gid_index = -1;      // the source GID; -1: no GRH, InfiniBand by LID
  context::Gid remote{};   // destination GID; all zero: not known
  int traffic_class = -1;  // as asked for; -1: no GRH
  unsigned path_mtu = 0;   // bytes, as asked for; 0: not known
  // Of the peer, where the handle trailer told it.
  facts::GidType remote_type = facts::GidType::kUnknown;
  int remote_link_layer = 0;  // as enum ibv link layers; 0: not known
  int local_rail = -1;
  int remote_rail = -1;
  const diagnosis::Diagnosis* odd = nullptr;  // why the local HCA is not like its siblings, if so
  const diagnosis::Diagnosis* rail_short = nullptr;  // a rail of this node that is down or slow
};

struct PairJudgement {
  std::vector<Verdict> verdicts;
  facts::SubnetVerdict subnet;
  // Enforce only: which of them makes the call fail before the QP is moved.
  std::optional<std::size_t> refused;
};

// Never for the recovery of a port or of a live connection: those may not be refused.
// `policy` is one of Policy::for_host().
PairJudgement judge_pair(const facts::Node& node, const Policy& policy, Mode mode,
                         const Pair& pair);

}  // namespace nnd::policy
