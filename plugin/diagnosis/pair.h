// Two ends that should not be paired, seen before a QP is moved to RTR.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "diagnosis/link_layers.h"
#include "diagnosis/queue_pair.h"

namespace nnd::diagnosis {

struct UnlikeLinkLayers {
  std::string place;  // "mlx5_0:1"
  LinkLayers layers;
};
Diagnosis diagnose(const UnlikeLinkLayers& seen);

// By their addresses. reach: kDifferentFamily, kNoRoute; kRouted and kOtherPrefix where the policy
// asks for one subnet.
struct UnlikeSubnets {
  // An HCA of this node.
  struct End {
    std::string place;                     // "mlx5_bond_0:1"; empty: it is not of this node
    std::string bond = {};                 // "bond0"
    std::vector<std::string> slaves = {};  // of that

    std::string text() const;    // "mlx5_bond_0:1 (bond0 over eno1, eno2)"
    std::string device() const;  // "mlx5_bond_0"
  };
  End here;
  std::string local;   // "10.0.1.2/24"
  std::string remote;  // "10.0.4.9"
  std::string netdev;  // by which the kernel would send
  Reachability reach = Reachability::kUnknown;
  const Diagnosis* odd = nullptr;  // what is wrong with the local HCA itself, beside its siblings
  const Diagnosis* rail_short = nullptr;  // a rail of this node that is down or slow
  End peer = {};                          // where both ends are of this node
  std::string peer_subnet = {};           // "10.9.9.0/24"
  // What keeps GPUs of one node from talking without the network: "NCCL_SHM_DISABLE".
  std::vector<std::string> turned_off = {};
  bool local_forbidden = false;  // that is what the policy forbids
  std::string beside = {};       // another port of this node, in whose subnet the peer is
  bool cables = false;           // each port of this node is in a subnet of two addresses
  // The local address with the length that all other HCAs' addresses have, where the peer is in its
  // subnet then: "10.0.1.2/24".
  std::string meant_local = {};
};
Diagnosis diagnose(const UnlikeSubnets& seen);

struct UnlikeRoceVersions {
  std::string place;
  std::string local;  // "RoCE v2"
  std::string peer;
};
Diagnosis diagnose(const UnlikeRoceVersions& seen);

struct UnlikeRails {
  std::string place;
  int local = 0;
  int peer = 0;
};
Diagnosis diagnose(const UnlikeRails& seen);

// InfiniBand, by GIDs of two subnets, and the peer's has no router's LID in it.
struct NoFlid {
  std::string place;
  std::string local;   // "fec0:0:0:1::/64"
  std::string remote;  // the peer's GID
};
Diagnosis diagnose(const NoFlid& seen);

// Not the one that the policy asks for.
struct OtherTrafficClass {
  std::string place;
  std::string remote;
  int asked = 0;
  int wanted = 0;
};
Diagnosis diagnose(const OtherTrafficClass& seen);

// NCCL asks for another MTU than the port's.
struct UnlikeMtu {
  std::string place;
  unsigned port = 0;  // bytes
  unsigned path = 0;  // as asked for
};
Diagnosis diagnose(const UnlikeMtu& seen);

}  // namespace nnd::diagnosis
